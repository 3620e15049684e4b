package sandbox

import "errors"

// What may happen to a Job, for errors.Is. All of it but ErrStart is the
// program's doing.
var (
	// ErrTimeout means that the program was killed at its wall limit.
	ErrTimeout = errors.New("timed out")
	// ErrOutputLimit means that it was killed when it had written more than it may.
	ErrOutputLimit = errors.New("wrote too much")
	// ErrMemoryLimit means that it ended for want of memory.
	ErrMemoryLimit = errors.New("ran out of memory")
	// ErrProcessLimit means that it ended after it had been refused a process or thread.
	ErrProcessLimit = errors.New("started too many processes")
	// ErrTmpLimit means that it ended with its temporary folder full.
	ErrTmpLimit = errors.New("filled its temporary folder")
	// ErrCrashed means that it ended by itself, and not well.
	ErrCrashed = errors.New("crashed")
	// ErrStart means that it could not be started: it is not there, or the machine
	// has no room for it.
	ErrStart = errors.New("could not be started")
)

// Error says how a Job ended that did not end well.
type Error struct {
	Kind    error  // one of the above
	Program string // the last part of its path
	Detail  string // the limit, the exit status or the cause, for people
	Stderr  string // the end of what it wrote to standard error; it may quote what the program has read
}

// Error leaves out what the program wrote: that may be anything.
func (e *Error) Error() string { return e.Program + " " + e.Kind.Error() + ": " + e.Detail }

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }
