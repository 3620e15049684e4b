package sandbox

import (
	"os/exec"
	"runtime"
)

// forks starts processes from one thread that lives as long as they may: the
// signal on the parent's death follows the thread that started the child.
type forks struct {
	requests chan fork
}

type fork struct {
	cmd  *exec.Cmd
	done chan error
}

func newForks() *forks {
	f := &forks{requests: make(chan fork)}
	go func() {
		runtime.LockOSThread()
		for r := range f.requests {
			r.done <- r.cmd.Start()
		}
	}()
	return f
}

func (f *forks) start(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	f.requests <- fork{cmd: cmd, done: done}
	return <-done
}

// close ends the thread, and with it every process started on it.
func (f *forks) close() { close(f.requests) }
