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
		os.Exit(work(handler))
	case commandsFlag:
		var o order
		if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
			fmt.Fprintln(os.Stderr, "read what to run:", err)
			os.Exit(1)
		}
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
