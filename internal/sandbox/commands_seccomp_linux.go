package sandbox

import (
	"fmt"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	profiles "github.com/moby/profiles/seccomp"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// deniedToCommands are what containers may call and commands may not: what looks
// into other processes, and what opens sockets of any family.
var deniedToCommands = map[string]bool{
	"clone": true, "clone3": true, "socket": true, "socketcall": true, "ptrace": true, "process_vm_readv": true, "process_vm_writev": true,
	"process_madvise": true, "process_mrelease": true, "pidfd_getfd": true, "kcmp": true, "name_to_handle_at": true, "memfd_secret": true,
	"fanotify_mark": true, "sync": true, "syncfs": true, "mlock": true, "mlock2": true, "mlockall": true, "munlockall": true,
	"io_pgetevents": true, "io_setup": true, "io_submit": true, "io_uring_setup": true, "io_uring_enter": true, "io_uring_register": true, "msgget": true, "shmget": true, "semget": true,
}

// newNamespaces are the flags of clone(2) that make namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// commandsPolicy is what commands may call: what containers may by default that
// have no capability, without deniedToCommands.
func commandsPolicy() (seccomp.Policy, error) {
	known, err := arch.GetInfo("")
	if err != nil {
		return seccomp.Policy{}, fmt.Errorf("make a seccomp filter: %w", err)
	}
	exists := map[string]bool{}
	for _, name := range known.SyscallNumbers {
		exists[name] = true
	}
	names := map[string]bool{"arch_prctl": true}
	for _, rule := range profiles.DefaultProfile().Syscalls {
		if rule.Action != specs.ActAllow || len(rule.Args) > 0 || rule.Includes != nil && (len(rule.Includes.Caps) > 0 || rule.Includes.MinKernel != nil) {
			continue
		}
		for _, name := range rule.Names {
			names[name] = true
		}
	}
	var allowed []string
	for name := range names {
		if exists[name] && !deniedToCommands[name] {
			allowed = append(allowed, name)
		}
	}
	conditions := []seccomp.NameWithConditions{
		{Name: "clone", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsNotSet, Value: newNamespaces}}},
	}
	for _, family := range []uint64{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6} {
		conditions = append(conditions, seccomp.NameWithConditions{Name: "socket", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.Equal, Value: family}}})
	}
	return seccomp.Policy{
		DefaultAction: seccomp.ActionErrno,
		Syscalls: []seccomp.SyscallGroup{
			{Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS), Names: []string{"clone3"}},
			{Action: seccomp.ActionAllow, Names: allowed, NamesWithCondtions: conditions},
		},
	}, nil
}
