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
	name := slotName
	if n.own {
		name = ownSlotName
	}
	s.cmd = &exec.Cmd{
		Path: fmt.Sprintf("/proc/self/fd/%d", programFD), Args: []string{name}, Dir: "/", Env: []string{"PATH=", "HOME=/nonexistent", "TMPDIR=/tmp", "LANG=C.UTF-8", MountsVariable + "=" + mountsDir},
		Stdin: child[0], Stdout: child[1], Stderr: child[2], ExtraFiles: []*os.File{child[3], n.program},
		SysProcAttr: n.isolated(number),
	}
	err = n.forks.start(s.cmd)
	closeAll(child[:]) // so that this process sees when the slot closes them
	if err != nil {
		s.cmd = nil
		return nil, fmt.Errorf("start %s in new namespaces: %w; allow user namespaces (sysctl user.max_user_namespaces, a container's seccomp profile) and let every user execute the program", n.options.Program, err)
	}
	if !n.own {
		s.users, err = os.Open(fmt.Sprintf("/proc/%d/ns/user", s.cmd.Process.Pid))
	}
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
// process, and a user id of the host that nothing else has, if this process may
// give away one.
func (n *Native) isolated(number int) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		Credential: &syscall.Credential{NoSetGroups: n.own}, // id 0 of the new namespace, no other group
		Setsid:     true, Pdeathsig: syscall.SIGKILL,
	}
	uid, gid := n.options.FirstUID+number, n.options.FirstUID+number
	if n.own {
		uid, gid = os.Geteuid(), os.Getegid()
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	a.GidMappingsEnableSetgroups = !n.own
	return a
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
func (n *Native) assign(s *slot, job Job, deadline time.Time) error {
	limits := job.Limits.withDefaults()
	o := order{Memory: limits.Memory, Tmp: limits.Tmp, Commands: job.Commands, Subdir: job.Subdir, Env: job.Env}
	if s.group.isSet() {
		if err := s.group.limit(limits); err != nil {
			return err
		}
	} else {
		o.Processes = limits.Processes
	}
	paths, err := o.addPlaces(job)
	if err != nil {
		return err
	}
	var rights []byte
	if n.own {
		o.Paths = paths
	} else {
		trees, err := s.cloneTrees(paths, len(o.Mounts))
		defer closeTrees(trees)
		if err != nil {
			return err
		}
		rights = unix.UnixRights(trees...)
	}
	data, err := json.Marshal(o)
	if err == nil && len(data) > maxOrder {
		err = fmt.Errorf("commands and environment have %d bytes; %d are possible", len(data), maxOrder)
	}
	if err != nil {
		return err
	}
	if _, _, err := s.control.WriteMsgUnix(data, rights, nil); err != nil {
		return fmt.Errorf("hand over the checkout: %w", err)
	}
	return s.hear(saysConfined, deadline)
}

// addPlaces notes what is mounted, and returns the paths of it: the checkout, the
// mounts, the tools.
func (o *order) addPlaces(job Job) (paths []string, err error) {
	for _, m := range append([]Mount{{Dir: job.Dir}}, job.Mounts...) {
		dir, err := filepath.Abs(m.Dir)
		if err != nil {
			return nil, err
		}
		paths = append(paths, dir)
		if m.Name != "" {
			o.Mounts = append(o.Mounts, m.Name)
		}
	}
	if len(job.Commands) == 0 {
		return paths, nil
	}
	if o.Tools, err = toolsOf(job.Root); err != nil {
		return nil, err
	}
	for _, t := range o.Tools {
		if t.Link == "" {
			paths = append(paths, t.path)
		}
	}
	return paths, nil
}

// cloneTrees opens folders; from those after the mounts programs can be executed.
func (s *slot) cloneTrees(paths []string, mounts int) (trees []int, err error) {
	for i, dir := range paths {
		tree, err := cloneTree(dir, int(s.users.Fd()), i <= mounts)
		if err != nil {
			return trees, err
		}
		trees = append(trees, tree)
	}
	return trees, nil
}

func closeTrees(trees []int) {
	for _, tree := range trees {
		_ = unix.Close(tree)
	}
}

// cloneTree returns a detached, read-only mount of a folder. Where the file
// system can, what belongs to this process's user 0 belongs to the slot's in it,
// so that the folder need not be open to others.
func cloneTree(dir string, users int, noexec bool) (int, error) {
	tree, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("bind the folder %s: %w", dir, err)
	}
	attributes := treeAttributes(noexec)
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
