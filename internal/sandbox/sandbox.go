package sandbox

import (
	"fmt"
	"strings"
	"time"
)

// Job is one program to run, once.
type Job struct {
	Path  string   // the program; looked up in PATH when it has no slash
	Args  []string // without the program's own name
	Stdin []byte
	// Dir is the folder that the program finds as its working directory, whatever
	// it is called there. The program has no business writing to it, and a backend
	// that can hold it to that does.
	Dir string
	// Commands are run one after the other in place of the program, until one fails;
	// what the last one writes to standard output is the result, what the others
	// write goes to standard error. They have a copy of Dir as their working
	// directory, and may write to it.
	Commands []Command
	// Subdir is where in Dir commands are run: relative, with slashes.
	Subdir string
	// Root is a folder with what commands need: usr, bin, lib and so on. They find it
	// as /; the host's own programs when it is empty.
	Root string
	// Env is what commands find in their environment, as NAME=value.
	Env []string
	// Mounts are further folders to read. The program finds each as
	// $TIDEGATE_MOUNTS/<name>.
	Mounts []Mount
	Limits Limits
}

// Command is a program and its arguments; a name without a slash is looked up in
// the usual folders.
type Command []string

// Mount is a folder that a Job may read.
type Mount struct {
	Name string // one element of a path
	Dir  string
}

// MountsVariable is the environment variable that says where a Job's mounts are.
const MountsVariable = "TIDEGATE_MOUNTS"

// MaxMounts is how many folders one job may have beside its own: with those of
// commands' tools they fit into one message of a socket (SCM_MAX_FD, unix(7)).
const MaxMounts = 180

// checkMounts refuses names that would lie elsewhere, or twice.
func checkMounts(mounts []Mount) error {
	if len(mounts) > MaxMounts {
		return fmt.Errorf("it has %d folders to mount; %d are possible", len(mounts), MaxMounts)
	}
	seen := map[string]bool{}
	for _, m := range mounts {
		if m.Name == "" || m.Name == "." || m.Name == ".." || strings.ContainsAny(m.Name, "/\x00") || seen[m.Name] {
			return fmt.Errorf("%q is no name for a mount, or is there twice", m.Name)
		}
		seen[m.Name] = true
	}
	return nil
}

// Limits bound a Job. A zero value means the default.
type Limits struct {
	Wall   time.Duration // from start to end; 30 s by default
	Output int64         // bytes on standard output; 64 MiB by default
	// Memory is what the program may have of its own, in bytes; 1 GiB by default.
	// Go programs are also told to collect garbage before they reach it.
	Memory int64
	// Processes bounds processes and threads; 256 by default. Backends without a
	// namespace of their own cannot count them and leave them unbounded.
	Processes int
	// Tmp is what the program may keep in its temporary folder, in bytes; 256 MiB by
	// default. Backends without a mount of their own leave it unbounded.
	Tmp int64
}

const (
	defaultWall      = 30 * time.Second
	defaultOutput    = 64 << 20
	defaultMemory    = 1 << 30
	defaultProcesses = 256
	defaultTmp       = 256 << 20
)

func (l Limits) withDefaults() Limits {
	if l.Wall <= 0 {
		l.Wall = defaultWall
	}
	if l.Output <= 0 {
		l.Output = defaultOutput
	}
	if l.Memory <= 0 {
		l.Memory = defaultMemory
	}
	if l.Processes <= 0 {
		l.Processes = defaultProcesses
	}
	if l.Tmp <= 0 {
		l.Tmp = defaultTmp
	}
	return l
}

// Result is what a program that ended well has written.
type Result struct {
	Output []byte // standard output, all of it
	Stderr string // the end of standard error
}
