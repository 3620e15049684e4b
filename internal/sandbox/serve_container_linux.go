package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// What the slot program does when it is no slot, but in or around a container.
const (
	launchFlag    = "--sandbox-launch"   // wait for the end of file 3, and become what follows
	handlerFlag   = "--sandbox-handler"  // run the handler
	commandsFlag  = "--sandbox-commands" // run those of the order on standard input
	doNothingFlag = "--sandbox-nothing"
)

// serveContainer does one of these and does not return then.
func serveContainer(handler Handler) {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case launchFlag:
		fmt.Fprintln(os.Stderr, launch(os.Args[2:]))
		os.Exit(1)
	case handlerFlag:
		confineContained(false)
		os.Exit(work(handler))
	case commandsFlag:
		var o order
		if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
			fmt.Fprintln(os.Stderr, "read what to run:", err)
			os.Exit(1)
		}
		confineContained(true)
		os.Exit(work(o.run))
	case doNothingFlag:
		os.Exit(0)
	}
}

// launch returns only when it has failed.
func launch(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("there is nothing to launch")
	}
	gate := os.NewFile(controlFD, "gate")
	if _, err := io.Copy(io.Discard, gate); err != nil {
		return fmt.Errorf("wait for the cgroup: %w", err)
	}
	_ = gate.Close()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	return fmt.Errorf("start %s: %w", args[0], unix.Exec(args[0], args, os.Environ()))
}

// confineContained leaves a job of a container no more than one of a slot has. What
// it takes away is the container's own kernel's, not the host's, so that it is the
// second wall there. The container starts with the capabilities that this needs.
func confineContained(commands bool) {
	for _, take := range []func() error{
		func() error { return furnishContainer(commands) },
		dropCapabilities,
		func() error { return confineCalls(commands) },
	} {
		if err := take(); err != nil {
			fmt.Fprintln(os.Stderr, "confine a job in its container:", err)
			os.Exit(1)
		}
	}
}

// furnishContainer mounts a /dev that has the harmless devices only, and nothing
// where a slot has nothing: over /sys, and over /proc, of which commands may see all
// but this process.
func furnishContainer(commands bool) error {
	const devices, readOnly = "/sys", unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NOEXEC
	if err := unix.Mount("tmpfs", devices, "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount a folder of devices: %w", err)
	}
	if err := makeDevices(devices); err != nil {
		return err
	}
	hidden := "/proc"
	if commands {
		if err := linkStreams(devices); err != nil {
			return err
		}
		hidden = "/proc/1"
	}
	if err := unix.Mount("", devices, "", unix.MS_REMOUNT|readOnly, ""); err != nil {
		return fmt.Errorf("make the folder of devices read-only: %w", err)
	}
	if err := unix.Mount(devices, "/dev", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	for _, dir := range []string{"/sys", hidden} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", readOnly, "mode=000"); err != nil {
			return fmt.Errorf("hide %s: %w", dir, err)
		}
	}
	return nil
}
