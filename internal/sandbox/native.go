package sandbox

import (
	"io"
	"time"
)

// Handler is the job that a slot runs in its own process, once it is confined.
// An error is written to standard error and ends the slot as a crash.
type Handler func(stdin io.Reader, stdout io.Writer) error

// Options say how many slots a Native keeps and what they run.
type Options struct {
	// Program is the slot program: it must call ServeSlot first thing in main and be
	// built with CGO_ENABLED=0. Looked up in PATH when it has no slash. Every user
	// must be allowed to execute the file, as slots run under ids of their own.
	Program string
	// Idle is how many slots wait for a job; 10 by default.
	Idle int
	// Max bounds the slots alive, busy ones included; three times Idle by default,
	// at most 500.
	Max int
	// FirstUID is the first of Max consecutive user and group ids of the host that
	// slots run as; 60600 by default. Nobody else may have them.
	FirstUID int
	// Rlimits bounds memory and processes by resource limits of the slot's own user
	// id also where there are cgroups. Where there are none it is so in any case.
	Rlimits bool
	// Observer is told about slots when it is set; it must not block.
	Observer Observer
}

// Observer turns what happens to slots into metrics.
type Observer interface {
	// SlotTaken reports how long a job waited for its slot.
	SlotTaken(wait time.Duration)
	// SlotReplaced reports a new slot, or why there is none.
	SlotReplaced(err error)
}

// Stats counts the slots of a Native.
type Stats struct {
	Idle int // waiting for a job
	Busy int // running one, starting or ending
}

const (
	defaultIdle     = 10
	maxSlots        = 500
	defaultFirstUID = 60600
)

func (o Options) withDefaults() Options {
	if o.Idle <= 0 {
		o.Idle = defaultIdle
	}
	if o.Max <= 0 {
		o.Max = 3 * o.Idle
	}
	o.Max = min(o.Max, maxSlots)
	o.Idle = min(o.Idle, o.Max)
	if o.FirstUID <= 0 {
		o.FirstUID = defaultFirstUID
	}
	return o
}

// slotName is the name (argv[0]) under which a slot is started.
const slotName = "tidegate-slot"

// ownSlotName is that of a slot that runs as this process's own user.
const ownSlotName = "tidegate-slot-own"
