//go:build unix

package sandbox

import (
	"os"
	"syscall"
)

// killGroup kills a program and all that it has started, as far as they are
// still in its group.
func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }
