package sandbox

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// workDir is where a slot finds its checkout.
const workDir = "/work"

// mountsDir is where it finds its mounts.
const mountsDir = "/mounts"

// devices are all that a slot finds in /dev. None of them holds anything.
var devices = []string{"null", "zero", "full", "random", "urandom"}

// oldRoot is where a slot that opens its folders itself keeps the host's root
// until it has its job.
const oldRoot = "/old"

// buildRoot swaps the root of this mount namespace for an empty one with devices
// in it. There is no /proc: a handler needs none, and what is not there cannot be
// misused.
func buildRoot(keepOld bool) error {
	const base = "/tmp"
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=256k,nr_inodes=1024,mode=755"); err != nil {
		return fmt.Errorf("mount a new root on %s: %w; does the host forbid mounts in user namespaces (AppArmor, SELinux)?", base, err)
	}
	for _, dir := range []string{"/dev", "/tmp", workDir, mountsDir} {
		if err := os.Mkdir(base+dir, 0o755); err != nil { //nolint:gosec // the handler must find them
			return fmt.Errorf("make the new root: %w", err)
		}
	}
	if err := makeDevices(base + "/dev"); err != nil {
		return err
	}
	if err := unix.Chdir(base); err != nil {
		return err
	}
	if keepOld {
		if err := os.Mkdir("."+oldRoot, 0o755); err != nil { //nolint:gosec // it is gone before the handler runs
			return fmt.Errorf("make the new root: %w", err)
		}
		if err := unix.PivotRoot(".", "."+oldRoot); err != nil {
			return fmt.Errorf("pivot to the new root: %w", err)
		}
		return unix.Chdir("/")
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot to the new root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the old root: %w", err)
	}
	return unix.Chdir("/")
}

// makeDevices puts the devices into a folder.
func makeDevices(dir string) error {
	for _, name := range devices {
		from, to := "/dev/"+name, dir+"/"+name
		if err := os.WriteFile(to, nil, 0o600); err != nil {
			return fmt.Errorf("make the place of %s: %w", from, err)
		}
		if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s: %w", from, err)
		}
	}
	return nil
}

// linkStreams makes the links to a process's own streams that programs look for in
// /dev.
func linkStreams(dir string) error {
	for name, target := range map[string]string{"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		if err := os.Symlink("/proc/self/"+target, dir+"/"+name); err != nil {
			return fmt.Errorf("make /dev/%s: %w", name, err)
		}
	}
	return nil
}

// openTrees opens an order's folders in the host's root, and lets go of that.
func (o order) openTrees() (trees []int, err error) {
	for i, at := range o.Paths {
		tree, err := openTree(oldRoot+at, i <= len(o.Mounts))
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
	}
	if err := unix.Unmount(oldRoot, unix.MNT_DETACH); err != nil {
		return nil, fmt.Errorf("let go of the old root: %w", err)
	}
	return trees, os.Remove(oldRoot)
}

// openTree returns a detached, read-only mount of a folder and of what is mounted
// in it.
func openTree(dir string, noexec bool) (int, error) {
	tree, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return 0, fmt.Errorf("bind the folder %s: %w", strings.TrimPrefix(dir, oldRoot), err)
	}
	attributes := treeAttributes(noexec)
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attributes); err != nil {
		_ = unix.Close(tree)
		return 0, fmt.Errorf("make the folder %s read-only: %w", strings.TrimPrefix(dir, oldRoot), err)
	}
	return tree, nil
}

func treeAttributes(noexec bool) unix.MountAttr {
	attributes := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if noexec {
		attributes.Attr_set |= unix.MOUNT_ATTR_NOEXEC
	}
	return attributes
}

// furnish gives the root the job's folders and /tmp, and makes it read-only.
func furnish(o order, trees []int) error {
	places := []string{workDir}
	for _, name := range o.Mounts {
		place := mountsDir + "/" + name
		if err := os.Mkdir(place, 0o755); err != nil { //nolint:gosec // the handler must find it
			return fmt.Errorf("make the place of mount %s: %w", name, err)
		}
		places = append(places, place)
	}
	prepare, finish := o.mountTmp, func() error { return nil }
	if len(o.Commands) > 0 {
		prepare, finish = o.prepareCommands, o.mountWork
		places[0] = checkoutDir
	}
	more, err := prepare()
	if err != nil {
		return err
	}
	for i, place := range append(places, more...) {
		if err := unix.MoveMount(trees[i], "", unix.AT_FDCWD, place, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("mount %s: %w", place, err)
		}
		_ = unix.Close(trees[i])
	}
	if err := finish(); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	if err := unix.Sethostname([]byte("slot")); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := unix.Chdir(workDir); err != nil {
		return fmt.Errorf("enter the checkout: %w; its folder must be readable by others where the file system has no idmapped mounts", err)
	}
	return nil
}

// mountTmp gives a handler its /tmp, from which nothing can be executed.
func (o order) mountTmp() ([]string, error) {
	if err := unix.Mount("tmpfs", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, tmpOptions(o.Tmp)); err != nil {
		return nil, fmt.Errorf("mount /tmp: %w", err)
	}
	return nil, nil
}

func tmpOptions(size int64) string { return fmt.Sprintf("size=%d,nr_inodes=65536,mode=1777", size) }
