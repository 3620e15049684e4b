package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"

	"golang.org/x/sys/unix"
)

const (
	checkoutDir = "/checkout" // read-only, below what commands may write
	scratchDir  = "/scratch"  // holds /tmp and what commands have written
	procDir     = "/proc"
)

// prepareCommands makes the root of commands: their tools, /tmp, /proc where the
// host lets it be mounted. It returns where the tools are mounted.
func (o order) prepareCommands() (places []string, err error) {
	for _, dir := range []string{checkoutDir, scratchDir, procDir} {
		if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // commands must find it
			return nil, fmt.Errorf("make the root of commands: %w", err)
		}
	}
	for _, t := range o.Tools {
		mounted, err := t.make("/")
		if err != nil {
			return nil, fmt.Errorf("make the place of /%s: %w", t.Name, err)
		}
		if mounted {
			places = append(places, path.Join("/", t.Name))
		}
	}
	if err := unix.Mount("tmpfs", scratchDir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, tmpOptions(o.Tmp)); err != nil {
		return nil, fmt.Errorf("mount %s: %w", scratchDir, err)
	}
	for _, dir := range []string{"/tmp", "/upper", "/inner"} {
		if err := os.Mkdir(scratchDir+dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the root of commands: %w", err)
		}
	}
	// Containers often hide parts of /proc; nobody in there may mount another one
	// then. Most commands do without.
	if unix.Mount("proc", procDir, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "") == nil {
		if err := linkStreams("/dev"); err != nil {
			return nil, err
		}
	}
	return places, nil
}

// mountWork puts a layer that commands may write over the checkout, and lets go of
// what that is made of.
func (o order) mountWork() error {
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%[2]s/inner,userxattr", checkoutDir, scratchDir)
	if err := unix.Mount("overlay", workDir, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("lay a writable folder over the checkout: %w; plugins need Linux 5.19 or later, and a file system that overlays can lie on", err)
	}
	if err := unix.Mount(scratchDir+"/tmp", "/tmp", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount /tmp: %w", err)
	}
	for _, dir := range []string{scratchDir, checkoutDir} {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("let go of %s: %w", dir, err)
		}
		if err := os.Remove(dir); err != nil {
			return fmt.Errorf("let go of %s: %w", dir, err)
		}
	}
	return nil
}

// run is the handler of commands: this process, the first of its namespace, starts
// one after the other. All that they have started ends with it.
func (o order) run(_ io.Reader, stdout io.Writer) error {
	if err := os.Setenv("PATH", commandPath); err != nil {
		return err
	}
	dir := path.Join(workDir, path.Clean("/"+o.Subdir))
	for i, c := range o.Commands {
		cmd := exec.Command(c[0], c[1:]...) //nolint:gosec // running it is the purpose
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, commandEnvironment("/tmp", mountsDir, o.Env), os.Stderr, os.Stderr
		if i == len(o.Commands)-1 {
			cmd.Stdout = stdout
		}
		if err := cmd.Run(); err != nil {
			var ended *exec.ExitError
			if errors.As(err, &ended) {
				return fmt.Errorf("%s ended with %w", c[0], ended)
			}
			return fmt.Errorf("start %s: %w", c[0], err)
		}
	}
	return nil
}
