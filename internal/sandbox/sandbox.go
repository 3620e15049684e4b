package sandbox

import "time"

// Job is one program to run, once.
type Job struct {
	Path  string   // the program; looked up in PATH when it has no slash
	Args  []string // without the program's own name
	Stdin []byte
	// Dir is the folder that the program finds as its working directory, whatever
	// it is called there. The program has no business writing to it, and a backend
	// that can hold it to that does.
	Dir    string
	Limits Limits
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
}

const (
	defaultWall      = 30 * time.Second
	defaultOutput    = 64 << 20
	defaultMemory    = 1 << 30
	defaultProcesses = 256
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
	return l
}

// Result is what a program that ended well has written.
type Result struct {
	Output []byte // standard output, all of it
	Stderr string // the end of standard error
}
