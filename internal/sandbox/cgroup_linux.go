package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// groupPrefix names the cgroups of this package. Each worker has one in every
// hierarchy and holds a lock on it while it lives.
const groupPrefix = "tidegate-"

// cgroups are a worker's own cgroups, one for each hierarchy (version 1).
type cgroups struct {
	dirs map[string]string // by controller
	lock []*os.File
}

// openCgroups makes this worker's cgroups, and removes those that dead workers
// have left.
func openCgroups() (*cgroups, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("find this process's cgroups: %w", err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find the cgroup file systems: %w", err)
	}
	g := &cgroups{dirs: map[string]string{}}
	for _, controller := range []string{"memory", "pids"} {
		parent := parentGroup(controller, string(own), string(mounts))
		if parent == "" {
			return nil, errors.Join(g.close(), fmt.Errorf(
				"no cgroup version 1 hierarchy of the %s controller is mounted, and version 2 is not supported yet; mount it at /sys/fs/cgroup/%[1]s", controller))
		}
		sweep(parent)
		dir, lock, err := makeLocked(parent)
		if err != nil {
			return nil, errors.Join(g.close(), fmt.Errorf("make a cgroup in %s: %w; mount it writable and run the worker as root", parent, err))
		}
		g.dirs[controller], g.lock = dir, append(g.lock, lock)
	}
	return g, nil
}

// makeLocked makes a cgroup and locks it. Another worker may sweep it away in the
// moment between; it is made again then.
func makeLocked(parent string) (dir string, lock *os.File, err error) {
	for range 10 {
		if dir, err = os.MkdirTemp(parent, groupPrefix); err != nil {
			return "", nil, err
		}
		if lock, err = os.Open(dir); err != nil { //nolint:gosec // just made
			continue
		}
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
		if err == nil && isDir(dir) {
			return dir, lock, nil
		}
		_ = lock.Close()
	}
	return "", nil, errors.Join(errors.New("it is removed again and again"), err)
}

// close removes the cgroups, which must be empty.
func (g *cgroups) close() error {
	if g == nil {
		return nil
	}
	var errs []error
	for _, dir := range g.dirs {
		errs = append(errs, os.Remove(dir))
	}
	for _, lock := range g.lock {
		errs = append(errs, lock.Close())
	}
	return errors.Join(errs...)
}

// parentGroup returns the folder of this process's own cgroup of a controller.
func parentGroup(controller, own, mounts string) string {
	var path string
	for line := range strings.Lines(own) {
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); len(f) == 3 && slices.Contains(strings.Split(f[1], ","), controller) {
			path = f[2]
		}
	}
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(strings.TrimSpace(line), " - ")
		f, kind := strings.Fields(before), strings.Fields(after)
		if len(f) < 5 || len(kind) < 3 || kind[0] != "cgroup" || !slices.Contains(strings.Split(kind[2], ","), controller) {
			continue
		}
		inside, err := filepath.Rel(f[3], path)
		if dir := filepath.Join(f[4], inside); err == nil && isDir(dir) {
			return dir
		}
		return f[4] // a container may see its own cgroup as the root
	}
	return ""
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// sweep removes the cgroups of workers that died. It leaves what is in use: by a
// lock that is held, or by a process that is still ending.
func sweep(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, groupPrefix+"*"))
	for _, dir := range dirs {
		lock, err := os.Open(dir) //nolint:gosec // only ours have the name
		if err != nil {
			continue
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			slots, _ := filepath.Glob(filepath.Join(dir, "slot-*"))
			for _, slot := range slots {
				_ = unix.Rmdir(slot)
			}
			_ = unix.Rmdir(dir)
		}
		_ = lock.Close()
	}
}

// group is the cgroup of one slot.
type group struct {
	memory, pids string
}

// isSet says whether there is a cgroup at all.
func (s group) isSet() bool { return s.memory != "" }

// add makes the cgroup of slot n with a process in it.
func (g *cgroups) add(n, pid int) (group, error) {
	name := "slot-" + strconv.Itoa(n)
	s := group{memory: filepath.Join(g.dirs["memory"], name), pids: filepath.Join(g.dirs["pids"], name)}
	for _, dir := range []string{s.memory, s.pids} {
		if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // a cgroup holds no secret
			return s, fmt.Errorf("make the slot's cgroup: %w", err)
		}
		if err := put(dir, "cgroup.procs", int64(pid)); err != nil {
			return s, err
		}
	}
	return s, nil
}

// limit sets what the slot may have from now on.
func (s group) limit(l Limits) error {
	if err := put(s.memory, "memory.limit_in_bytes", l.Memory); err != nil {
		return err
	}
	// Kernels without swap accounting do not have this one.
	if err := put(s.memory, "memory.memsw.limit_in_bytes", l.Memory); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return put(s.pids, "pids.max", int64(l.Processes))
}

// ranOut says whether the kernel killed for memory, refused says whether it
// refused a process or thread.
func (s group) ranOut() bool {
	return s.isSet() && count(filepath.Join(s.memory, "memory.oom_control"), "oom_kill") > 0
}

func (s group) refused() bool {
	return s.isSet() && count(filepath.Join(s.pids, "pids.events"), "max") > 0
}

func (s group) remove() error {
	var errs []error
	for _, dir := range []string{s.memory, s.pids} {
		if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, fmt.Errorf("remove the cgroup %s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}

// kill kills every process in the cgroup.
func (s group) kill() {
	data, _ := os.ReadFile(filepath.Join(s.pids, "cgroup.procs"))
	for field := range strings.FieldsSeq(string(data)) {
		if pid, err := strconv.Atoi(field); err == nil {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

func put(dir, file string, value int64) error {
	if err := os.WriteFile(filepath.Join(dir, file), strconv.AppendInt(nil, value, 10), 0o600); err != nil {
		return fmt.Errorf("set the slot's limit: %w", err)
	}
	return nil
}

// count returns the number after a key in a file of counters.
func count(path, key string) int64 {
	data, _ := os.ReadFile(path) //nolint:gosec // a cgroup of ours
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == key {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n
		}
	}
	return 0
}
