package sandbox

import "syscall"

// ownGroup puts a program into a process group of its own, which dies with this
// process.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
