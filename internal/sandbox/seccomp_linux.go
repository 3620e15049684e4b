package sandbox

import (
	"fmt"
	"runtime"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"golang.org/x/sys/unix"
)

// handlerCalls are the system calls that a Go program needs for files, memory,
// threads and time. There is none to start a program or open a socket.
var handlerCalls = []string{
	"read", "write", "readv", "writev", "pread64", "pwrite64", "lseek", "close", "openat", "openat2",
	"fstat", "statx", "statfs", "fstatfs", "faccessat", "faccessat2", "getdents64", "readlinkat",
	"mkdirat", "unlinkat", "renameat", "renameat2", "linkat", "symlinkat", "fchmod", "fchmodat", "utimensat",
	"ftruncate", "fsync", "fdatasync", "fallocate", "fcntl", "flock", "dup", "dup3", "pipe2", "copy_file_range", "sendfile",
	"getcwd", "chdir", "fchdir", "umask",
	"mmap", "munmap", "mprotect", "mremap", "madvise", "mincore", "brk",
	"futex", "sched_yield", "sched_getaffinity", "set_robust_list", "rseq", "membarrier", "exit", "exit_group",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "tgkill", "restart_syscall",
	"nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "setitimer",
	"timer_create", "timer_settime", "timer_delete",
	"epoll_create1", "epoll_ctl", "epoll_pwait", "eventfd2", "ppoll", "pselect6",
	"getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid", "getgroups", "getrusage", "getrandom", "uname", "sysinfo",
}

// statCalls name the one call that the table of each architecture names otherwise.
var statCalls = map[string]string{"amd64": "newfstatat", "arm64": "fstatat"}

// handlerPolicy lets threads be made and no processes: CLONE_THREAD must be set.
func handlerPolicy() (seccomp.Policy, error) {
	stat, ok := statCalls[runtime.GOARCH]
	if !ok {
		return seccomp.Policy{}, fmt.Errorf("make a seccomp filter: there is none for %s; run the worker on amd64 or arm64", runtime.GOARCH)
	}
	return seccomp.Policy{
		DefaultAction: seccomp.ActionErrno, // EPERM
		Syscalls: []seccomp.SyscallGroup{
			// Its flags lie behind a pointer that a filter cannot follow.
			{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: []string{"clone3"}},
			{Action: seccomp.ActionAllow, Names: append([]string{stat}, handlerCalls...), NamesWithCondtions: []seccomp.NameWithConditions{
				{Name: "clone", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet, Value: unix.CLONE_THREAD}}},
				{Name: "prlimit64", Conditions: seccomp.ArgumentConditions{{Argument: 2, Operation: seccomp.Equal, Value: 0}}},
			}},
		},
	}, nil
}

// loadSeccomp installs a filter on all threads.
func loadSeccomp(make func() (seccomp.Policy, error)) error {
	policy, err := make()
	if err != nil {
		return err
	}
	if err := seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: policy}); err != nil {
		return fmt.Errorf("load the seccomp filter: %w", err)
	}
	return nil
}
