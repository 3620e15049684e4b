package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// readyDelay bounds how long a slot may take to start, or to confine itself.
const readyDelay = 10 * time.Second

// slot is a process that waits for its one job.
type slot struct {
	n       int // unique among the slots alive
	cmd     *exec.Cmd
	control *net.UnixConn
	users   *os.File // its user namespace
	stdin   *os.File
	stdout  *os.File
	stderr  *tail
	group   group
	ended   chan struct{} // closed when the process is gone
	drained chan struct{} // closed when stderr is complete
}

// startSlot starts the slot program in fresh namespaces, as host id uid, and
// waits until it is ready.
func (n *Native) startSlot(number int) (_ *slot, err error) {
	s := &slot{n: number, stderr: &tail{limit: stderrTail}, ended: make(chan struct{}), drained: make(chan struct{})}
	child, err := s.openStreams()
	defer func() {
		if err != nil {
			err = errors.Join(err, s.end())
		}
	}()
	if err != nil {
		closeAll(child[:])
		return nil, fmt.Errorf("open the streams of a slot: %w", err)
	}
	s.cmd = &exec.Cmd{
		Path: fmt.Sprintf("/proc/self/fd/%d", programFD), Args: []string{slotName}, Dir: "/", Env: []string{"PATH=", "HOME=/nonexistent", "TMPDIR=/tmp", "LANG=C.UTF-8", MountsVariable + "=" + mountsDir},
		Stdin: child[0], Stdout: child[1], Stderr: child[2], ExtraFiles: []*os.File{child[3], n.program},
		SysProcAttr: isolated(n.options.FirstUID + number),
	}
	err = n.forks.start(s.cmd)
	closeAll(child[:]) // so that this process sees when the slot closes them
	if err != nil {
		s.cmd = nil
		return nil, fmt.Errorf("start %s in new namespaces: %w; allow user namespaces (sysctl user.max_user_namespaces, a container's seccomp profile) and let every user execute the program", n.options.Program, err)
	}
	s.users, err = os.Open(fmt.Sprintf("/proc/%d/ns/user", s.cmd.Process.Pid))
	if err == nil && n.cgroups != nil {
		s.group, err = n.cgroups.add(number, s.cmd.Process.Pid)
	}
	// It is waited for only now, so that its id was not another's until here.
	go func() {
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	if err != nil && !errors.Is(err, unix.ESRCH) { // one that has ended says why below
		return nil, err
	}
	return s, s.hear(saysReady, time.Now().Add(readyDelay))
}

// isolated are the attributes of a slot: no namespace in common with this
// process, and no user id of the host but one of its own.
func isolated(uid int) *syscall.SysProcAttr {
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
	return &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true,
		Credential: &syscall.Credential{}, // id 0 of the new namespace, no other group
		Setsid:     true, Pdeathsig: syscall.SIGKILL,
	}
}

// openStreams makes the slot's streams and returns the child's ends: standard
// input, output and error, and the control socket.
func (s *slot) openStreams() (child [4]*os.File, err error) {
	var stderr *os.File
	if child[0], s.stdin, err = os.Pipe(); err != nil {
		return child, err
	}
	if s.stdout, child[1], err = os.Pipe(); err != nil {
		return child, err
	}
	if stderr, child[2], err = os.Pipe(); err != nil {
		return child, err
	}
	go func() {
		defer close(s.drained)
		_, _ = stderr.WriteTo(s.stderr)
		_ = stderr.Close()
	}()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return child, err
	}
	child[3] = os.NewFile(uintptr(pair[1]), "control")
	own := os.NewFile(uintptr(pair[0]), "control")
	conn, err := net.FileConn(own)
	_ = own.Close()
	if err != nil {
		return child, err
	}
	s.control = conn.(*net.UnixConn)
	return child, nil
}

// hear waits for a packet of the slot; another one is the reason of its failure.
func (s *slot) hear(want string, deadline time.Time) error {
	_ = s.control.SetReadDeadline(deadline)
	data := make([]byte, 1024)
	n, err := s.control.Read(data)
	if err != nil {
		return fmt.Errorf("wait for a slot to be %s: %w; does the slot program call sandbox.ServeSlot first thing in main? It wrote %q", want, err, s.stderr.String())
	}
	if said := string(data[:n]); said != want {
		return fmt.Errorf("set up a slot: %s", said)
	}
	return nil
}

// assign gives the slot its limits, its checkout and its mounts, and returns when it is
// confined.
func (s *slot) assign(job Job, deadline time.Time) error {
	limits := job.Limits.withDefaults()
	o := order{Memory: limits.Memory, Tmp: limits.Tmp}
	if s.group.isSet() {
		if err := s.group.limit(limits); err != nil {
			return err
		}
	} else {
		o.Processes = limits.Processes
	}
	var trees []int
	defer func() {
		for _, tree := range trees {
			_ = unix.Close(tree)
		}
	}()
	for _, m := range append([]Mount{{Dir: job.Dir}}, job.Mounts...) {
		dir, err := filepath.Abs(m.Dir)
		if err != nil {
			return err
		}
		tree, err := cloneTree(dir, int(s.users.Fd()))
		if err != nil {
			return err
		}
		trees = append(trees, tree)
		if m.Name != "" {
			o.Mounts = append(o.Mounts, m.Name)
		}
	}
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if _, _, err := s.control.WriteMsgUnix(data, unix.UnixRights(trees...), nil); err != nil {
		return fmt.Errorf("hand over the checkout: %w", err)
	}
	return s.hear(saysConfined, deadline)
}

// cloneTree returns a detached, read-only mount of a folder. Where the file
// system can, what belongs to this process's user 0 belongs to the slot's in it,
// so that the folder need not be open to others.
func cloneTree(dir string, users int) (int, error) {
	tree, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("bind the folder %s: %w", dir, err)
	}
	attributes := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC}
	mapped := attributes
	mapped.Attr_set |= unix.MOUNT_ATTR_IDMAP
	mapped.Userns_fd = uint64(users) //nolint:gosec // a descriptor is not negative
	if unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &mapped) == nil {
		return tree, nil
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &attributes); err != nil {
		_ = unix.Close(tree)
		return 0, fmt.Errorf("make the folder %s read-only: %w", dir, err)
	}
	return tree, nil
}

// end kills what is left of the slot and frees what it has. Killing the first
// process of a pid namespace kills all of it.
func (s *slot) end() error {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		select {
		case <-s.ended:
		case <-time.After(readyDelay):
			return fmt.Errorf("a slot does not die: process %d", s.cmd.Process.Pid)
		}
	}
	closeAll([]*os.File{s.users, s.stdin, s.stdout})
	if s.control != nil {
		_ = s.control.Close()
	}
	if !s.group.isSet() {
		return nil
	}
	return s.group.remove()
}

// closeAll closes the files that there are.
func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
