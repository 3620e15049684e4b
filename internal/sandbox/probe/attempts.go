//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempts each do one thing and say what they got.
var attempts = map[string]func(argument string) (string, error){
	"read": func(path string) (string, error) {
		data, err := os.ReadFile(path) //nolint:gosec // that is the attempt
		return string(data), err
	},
	"list": func(path string) (string, error) {
		entries, err := os.ReadDir(path)
		names := make([]string, 0, len(entries))
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, " "), err
	},
	"write": func(path string) (string, error) {
		return "", os.WriteFile(path, []byte("x"), 0o600)
	},
	"open": func(path string) (string, error) {
		f, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // that is the attempt
		if err != nil {
			return "", err
		}
		return "", f.Close()
	},
	"connect": func(address string) (string, error) {
		network, address, _ := strings.Cut(address, " ")
		c, err := net.DialTimeout(network, address, time.Second)
		if err != nil {
			return "", err
		}
		return "", c.Close()
	},
	"socket": func(argument string) (string, error) {
		var family, kind int
		if _, err := fmt.Sscan(argument, &family, &kind); err != nil {
			return "", err
		}
		fd, err := unix.Socket(family, kind, 0)
		if err != nil {
			return "", err
		}
		return "", unix.Close(fd)
	},
	"signal": func(pid string) (string, error) {
		n, err := strconv.Atoi(pid)
		if err != nil {
			return "", err
		}
		return "", unix.Kill(n, 0)
	},
	"trace": func(pid string) (string, error) {
		n, err := strconv.Atoi(pid)
		if err != nil {
			return "", err
		}
		return "", unix.PtraceSeize(n)
	},
	"mount": func(dir string) (string, error) {
		if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
			return "", err
		}
		return "", unix.Unmount(dir, 0)
	},
	"remount": func(dir string) (string, error) {
		return "", unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND, "")
	},
	"chroot":  func(dir string) (string, error) { return "", unix.Chroot(dir) },
	"unshare": func(string) (string, error) { return "", raw(unix.SYS_UNSHARE, unix.CLONE_NEWNS) },
	"mknod": func(path string) (string, error) {
		return "", unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3)))
	},
	"exec":   func(path string) (string, error) { return "", unix.Exec(path, []string{path, "done: executed"}, nil) },
	"setuid": func(string) (string, error) { return "", raw(unix.SYS_SETUID, 1) },
	"fork":   func(string) (string, error) { return "", exec.Command("/bin/true").Run() },
	"userns": func(string) (string, error) {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		return "", cmd.Run()
	},
	"keyctl":      func(string) (string, error) { return "", raw(unix.SYS_KEYCTL, 0, ^uintptr(2), 1) },
	"userfaultfd": func(string) (string, error) { return "", raw(unix.SYS_USERFAULTFD, 1) },
	"io_uring": func(string) (string, error) {
		var params [120]byte
		return "", raw(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params))) //nolint:gosec // read before the call returns
	},
	"bpf": func(string) (string, error) {
		attr := [18]uint32{2, 4, 4, 1}                                                       // an array map of one entry
		return "", raw(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr)) //nolint:gosec // read before the call returns
	},
	"perf": func(string) (string, error) {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: unix.PERF_ATTR_SIZE_VER0, Config: unix.PERF_COUNT_SW_CPU_CLOCK}
		_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
		return "", err
	},
	"identity": func(string) (string, error) {
		dir, err := os.Getwd()
		host, _ := os.Hostname()
		return fmt.Sprintf("dir=%s host=%s pid=%d warm=%t env=%s", dir, host, os.Getpid(), warmed, strings.Join(os.Environ(), " ")), err
	},
}

func raw(call uintptr, arguments ...uintptr) error {
	var a [3]uintptr
	copy(a[:], arguments)
	if _, _, errno := unix.Syscall(call, a[0], a[1], a[2]); errno != 0 {
		return errno
	}
	return nil
}
