//go:build unix && !linux

package sandbox

import "syscall"

// ownGroup puts a program into a process group of its own. Here the group does
// not die with this process.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
