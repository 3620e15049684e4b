package stack

import "syscall"

// attributes keep the terminal's Ctrl-C from the process. A detached one leads a session of its own; an attached one is
// killed when the program that started it is gone.
func attributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
