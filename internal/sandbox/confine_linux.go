package sandbox

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// lockedSecurebits keeps user id 0 of the namespace from meaning anything:
// NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE, each with its lock
// (linux/securebits.h).
const lockedSecurebits = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<6 | 1<<7

// confine takes from every thread of this process what a handler does not need.
// It cannot be undone.
func confine(o order) error {
	if err := setRlimits(o); err != nil {
		return err
	}
	if err := prctlAll(unix.PR_SET_SECUREBITS, lockedSecurebits); err != nil {
		return fmt.Errorf("lock the securebits: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := prctlAll(unix.PR_SET_NO_NEW_PRIVS, 1); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	writable := []string{"/tmp"}
	if len(o.Commands) > 0 {
		writable = append(writable, workDir)
	}
	paths := []landlock.Rule{landlock.RODirs("/"), landlock.RWDirs(writable...), landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full")}
	// Best effort: the namespaces hold without it, and old kernels have none.
	if err := landlock.V6.BestEffort().Restrict(paths...); err != nil {
		return fmt.Errorf("restrict by Landlock: %w", err)
	}
	return confineCalls(len(o.Commands) > 0)
}

// confineCalls leaves the system calls that commands or a handler need.
func confineCalls(commands bool) error {
	if !commands {
		return loadSeccomp(handlerPolicy)
	}
	// Whom a command could trace, by /proc too, it cannot if that is not dumpable.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide this process from commands: %w", err)
	}
	return loadSeccomp(commandsPolicy)
}

// setRlimits bounds this process. RLIMIT_DATA and RLIMIT_NPROC stay open where
// cgroups bound memory and processes, and report it.
func setRlimits(o order) error {
	limits := map[int]int64{
		unix.RLIMIT_CORE:     0,
		unix.RLIMIT_NOFILE:   maxOpenFiles,
		unix.RLIMIT_FSIZE:    o.Tmp,
		unix.RLIMIT_MEMLOCK:  0,
		unix.RLIMIT_MSGQUEUE: 0,
	}
	if o.Processes > 0 {
		limits[unix.RLIMIT_DATA], limits[unix.RLIMIT_NPROC] = o.Memory, int64(o.Processes)
	}
	for resource, value := range limits {
		v := uint64(value) //nolint:gosec // positive since withDefaults
		if err := unix.Prlimit(0, resource, &unix.Rlimit{Cur: v, Max: v}, nil); err != nil {
			return fmt.Errorf("set limit %d: %w", resource, err)
		}
	}
	return nil
}

func dropCapabilities() error {
	for c := uintptr(0); c < 64; c++ {
		err := prctlAll(unix.PR_CAPBSET_DROP, c)
		if errors.Is(err, unix.EINVAL) {
			break // past the last that this kernel knows
		}
		if err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	//nolint:gosec // the kernel reads both before the call returns
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	if errno != 0 {
		return fmt.Errorf("drop all capabilities: %w", errno)
	}
	return nil
}

// prctlAll calls prctl on every thread: these attributes are per thread.
func prctlAll(option int, argument uintptr) error {
	_, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, uintptr(option), argument, 0, 0, 0, 0)
	if errors.Is(errno, syscall.ENOTSUP) {
		return fmt.Errorf("%w; build the slot program with CGO_ENABLED=0", errno)
	}
	if errno != 0 {
		return errno
	}
	return nil
}
