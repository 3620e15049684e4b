package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strconv"

	"golang.org/x/sys/unix"
)

// The files that a slot inherits beside its standard streams.
const (
	controlFD = 3 // a SEQPACKET socket to the parent
	programFD = 4 // the slot program itself
)

// What a slot says on its control socket, one packet each. Anything else is why
// it cannot go on.
const (
	saysReady    = "ready"
	saysConfined = "confined"
)

// exitTmpFull is the status of a slot whose handler ended with a full /tmp.
const exitTmpFull = 77

// order is what the parent sends with the mount of the checkout.
type order struct {
	Memory int64
	// Processes is set where there is no cgroup: resource limits hold memory and
	// processes then.
	Processes int
	Tmp       int64
	Mounts    []string // names of the mounts that come after the checkout's
	// Commands, in Subdir and with Env, take the place of the handler; Tools are
	// mounted for them after the mounts.
	Commands []Command
	Subdir   string
	Env      []string
	Tools    []tool
	// Paths are the folders to mount, when the slot must open them itself.
	Paths []string
}

// ServeSlot makes this process a slot when it was started as one, and does not
// return then: it closes itself off, calls warm (which may be nil), waits for a
// job, confines itself and runs handler. Otherwise it returns at once. It must be
// called first thing in main, before other goroutines hold files open.
func ServeSlot(handler Handler, warm func()) {
	serveContainer(handler)
	if len(os.Args) != 1 || os.Args[0] != slotName && os.Args[0] != ownSlotName {
		return
	}
	keepOld := os.Args[0] == ownSlotName
	file := os.NewFile(controlFD, "control")
	conn, err := net.FileConn(file)
	_ = file.Close()
	_ = unix.Close(programFD)
	control, ok := conn.(*net.UnixConn)
	if err != nil || !ok {
		fmt.Fprintln(os.Stderr, "a slot is started by the sandbox only: it has no control socket")
		os.Exit(2)
	}
	o, err := await(control, warm, keepOld)
	if err != nil {
		_, _ = control.Write([]byte(err.Error()))
		os.Exit(2)
	}
	// The parent never writes again, so that a read ends when the parent does.
	go func() {
		_, _ = control.Read(make([]byte, 1))
		os.Exit(2)
	}()
	if len(o.Commands) > 0 {
		handler = o.run
	}
	os.Exit(work(handler))
}

// await returns once there is a job and this process is confined for it.
func await(control *net.UnixConn, warm func(), keepOld bool) (o order, err error) {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return o, fmt.Errorf("ask to die with the parent: %w", err)
	}
	if err := closeInherited(); err != nil {
		return o, err
	}
	if err := buildRoot(keepOld); err != nil {
		return o, err
	}
	if warm != nil {
		warm()
	}
	if _, err := control.Write([]byte(saysReady)); err != nil {
		return o, err
	}
	o, trees, err := receive(control)
	if err == nil && keepOld {
		trees, err = o.openTrees()
	}
	if err != nil {
		return o, err
	}
	if err := furnish(o, trees); err != nil {
		return o, err
	}
	debug.SetMemoryLimit(o.Memory / 4 * 3)
	if err := confine(o); err != nil {
		return o, err
	}
	_, err = control.Write([]byte(saysConfined))
	return o, err
}

// closeInherited closes what the worker itself had inherited and passed on
// unknowingly: descriptors that stay open on exec. This program opens none such.
func closeInherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("find inherited files: %w; mount /proc for the worker", err)
	}
	for _, entry := range entries {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd <= 2 {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
	return nil
}

// maxOrder bounds what a slot is told, in bytes; a packet of a socket is not much
// larger.
const maxOrder = 128 << 10

// receive waits for the job's order and the mounts of its folders.
func receive(control *net.UnixConn) (o order, trees []int, err error) {
	data, oob := make([]byte, maxOrder), make([]byte, unix.CmsgSpace(4*(1+MaxMounts+maxTools)))
	n, oobn, _, _, err := control.ReadMsgUnix(data, oob)
	if err != nil {
		return o, nil, fmt.Errorf("wait for a job: %w", err)
	}
	if err = json.Unmarshal(data[:n], &o); err != nil {
		return o, nil, fmt.Errorf("read the order: %w", err)
	}
	if len(o.Paths) > 0 {
		return o, nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		return o, nil, errors.Join(errors.New("the order came without a checkout"), err)
	}
	trees, err = unix.ParseUnixRights(&messages[0])
	if err != nil || len(trees) != o.trees() {
		return o, nil, errors.Join(fmt.Errorf("the order came with %d folders, and %d were announced", len(trees), o.trees()), err)
	}
	return o, trees, nil
}

// trees is how many folders an order comes with.
func (o order) trees() int {
	count := 1 + len(o.Mounts)
	for _, t := range o.Tools {
		if t.Link == "" {
			count++
		}
	}
	return count
}

// work runs the handler and returns the status to exit with.
func work(handler Handler) int {
	err := handler(os.Stdin, os.Stdout)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	var tmp unix.Statfs_t
	if errors.Is(err, unix.ENOSPC) || (unix.Statfs("/tmp", &tmp) == nil && tmp.Bfree == 0) {
		return exitTmpFull
	}
	return 1
}
