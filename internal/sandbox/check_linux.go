package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Check finds out what this host offers to the native sandbox, and at the end
// makes one: what counts is whether that works.
func Check(o Options) []Finding {
	return []Finding{checkUser(o), checkNamespaces(), checkSeccomp(), checkLandlock(), checkCgroup("memory"), checkCgroup("pids"), checkNative(o)}
}

func checkUser(o Options) Finding {
	f := Finding{Name: "user ids", State: StateOK}
	switch own, err := runsAsItself(o.withDefaults()); {
	case err != nil:
		f.State, f.Detail, f.Remedy = StateMissing, err.Error(), "give the worker's container another runAsUser"
	case own:
		f.Detail = fmt.Sprintf("slots run as user %d, in namespaces of their own", os.Geteuid())
	default:
		f.Detail = "each slot has one of its own"
	}
	return f
}

func checkNamespaces() Finding {
	f := Finding{Name: "user namespaces", State: StateOK}
	text, err := os.ReadFile("/proc/sys/user/max_user_namespaces")
	switch limit := strings.TrimSpace(string(text)); {
	case errors.Is(err, os.ErrNotExist):
		f.State, f.Detail, f.Remedy = StateMissing, "the kernel has none", "use a kernel with CONFIG_USER_NS"
	case err != nil:
		f.State, f.Detail, f.Remedy = StateMissing, err.Error(), "mount /proc for the worker"
	case limit == "0":
		f.State, f.Detail, f.Remedy = StateMissing, "user.max_user_namespaces is 0", "sysctl -w user.max_user_namespaces=1000"
	default:
		f.Detail = "up to " + limit
	}
	return f
}

func checkSeccomp() Finding {
	text, err := os.ReadFile("/proc/sys/kernel/seccomp/actions_avail")
	if err != nil || !strings.Contains(string(text), "errno") {
		return Finding{"seccomp filters", StateMissing, "the kernel has none", "use a kernel with CONFIG_SECCOMP_FILTER, and mount /proc for the worker"}
	}
	return Finding{Name: "seccomp filters", State: StateOK}
}

// landlockVersion is the flag that asks for the version of Landlock's interface
// (landlock_create_ruleset(2)).
const landlockVersion = 1

func checkLandlock() Finding {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, landlockVersion)
	if errno != 0 {
		return Finding{"Landlock", StateDegraded, "the kernel has none, or it is switched off", "boot with lsm=landlock,… for a second lock on files"}
	}
	return Finding{Name: "Landlock", State: StateOK, Detail: fmt.Sprintf("version %d", version)}
}

const withoutCgroup = "without it resource limits hold memory and processes"

func checkCgroup(controller string) Finding {
	f := Finding{Name: controller + " cgroup", State: StateOK}
	own, err := os.ReadFile("/proc/self/cgroup")
	mounts, mountsErr := os.ReadFile("/proc/self/mountinfo")
	if err = errors.Join(err, mountsErr); err != nil {
		f.State, f.Detail, f.Remedy = StateMissing, err.Error(), "mount /proc for the worker"
		return f
	}
	parent := parentGroup(controller, string(own), string(mounts))
	if parent == "" {
		f.State, f.Detail, f.Remedy = StateDegraded, "no hierarchy of version 1 has it", withoutCgroup
		return f
	}
	f.Detail = parent
	if err := unix.Access(parent, unix.W_OK); err != nil {
		f.State, f.Remedy = StateDegraded, "mount "+parent+" writable for the worker; "+withoutCgroup
	}
	return f
}

// checkNative makes a sandbox and confines one slot, as a start does.
func checkNative(o Options) Finding {
	o.Idle, o.Max, o.Observer = 1, 1, nil
	n, err := NewNative(o)
	if err == nil {
		err = n.Close()
	}
	if err != nil {
		return Finding{NativeFinding, StateMissing, err.Error(), "mend what is missing above; renders do not run until then"}
	}
	return Finding{Name: NativeFinding, State: StateOK, Detail: "one was made, and confined a process"}
}
