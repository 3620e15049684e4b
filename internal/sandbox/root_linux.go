package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// workDir is where a slot finds its checkout.
const workDir = "/work"

// mountsDir is where it finds its mounts.
const mountsDir = "/mounts"

// devices are all that a slot finds in /dev. None of them holds anything.
var devices = []string{"null", "zero", "full", "random", "urandom"}

// buildRoot swaps the root of this mount namespace for an empty one with devices
// in it. There is no /proc: a handler needs none, and what is not there cannot be
// misused.
func buildRoot() error {
	const base = "/tmp"
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64k,nr_inodes=64,mode=755"); err != nil {
		return fmt.Errorf("mount a new root on %s: %w; does the host forbid mounts in user namespaces (AppArmor, SELinux)?", base, err)
	}
	for _, dir := range []string{"/dev", "/tmp", workDir, mountsDir} {
		if err := os.Mkdir(base+dir, 0o755); err != nil { //nolint:gosec // the handler must find them
			return fmt.Errorf("make the new root: %w", err)
		}
	}
	for _, name := range devices {
		if err := bindDevice("/dev/"+name, base+"/dev/"+name); err != nil {
			return err
		}
	}
	if err := unix.Chdir(base); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot to the new root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the old root: %w", err)
	}
	return unix.Chdir("/")
}

func bindDevice(from, to string) error {
	if err := os.WriteFile(to, nil, 0o600); err != nil {
		return fmt.Errorf("make the place of %s: %w", from, err)
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", from, err)
	}
	return nil
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
	for i, tree := range trees {
		if err := unix.MoveMount(tree, "", unix.AT_FDCWD, places[i], unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("mount %s: %w", places[i], err)
		}
		_ = unix.Close(tree)
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	if err := unix.Mount("tmpfs", "/tmp", "tmpfs", flags, fmt.Sprintf("size=%d,nr_inodes=65536,mode=1777", o.Tmp)); err != nil {
		return fmt.Errorf("mount /tmp: %w", err)
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
