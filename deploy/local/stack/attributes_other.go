//go:build unix && !linux

package stack

import "syscall"

// attributes keep the terminal's Ctrl-C from the process. A detached one leads a session of its own. Outside Linux an
// attached one outlives a program that is killed before it can call Stop.
func attributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}
