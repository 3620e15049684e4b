package gitops

import (
	"slices"
	"time"
)

// GateKind tells what a gate waits for.
type GateKind string

const (
	// GateApproval waits until somebody approves the release and its plan.
	GateApproval GateKind = "approval"
	// GateWindow is open in some windows of time.
	GateWindow GateKind = "window"
	// GateSync is the approval that a stage without an automated sync policy
	// implies; `tidegate sync` opens it.
	GateSync GateKind = "sync"
	// GatePrune is opened by a plan that deletes more than the deletion budget; it
	// holds only the prune step.
	GatePrune GateKind = "prune"
	// GateDelete holds the deletion of targets that are no longer declared.
	GateDelete GateKind = "delete"
)

// Gate is one condition that a release must meet before it enters a stage. All gates of
// a stage must be open at the same time.
type Gate struct {
	Name string   `json:"name"`
	Kind GateKind `json:"kind"`
	// Approvals is how many persons must approve; one when it is zero.
	Approvals int `json:"approvals,omitempty"`
	// Expires is how long an approval counts; for as long as it takes when it is zero.
	Expires time.Duration `json:"expires,omitempty"`
	// Deadline is how long the gate may be waited for; for as long as it takes when it is
	// zero.
	Deadline time.Duration `json:"deadline,omitempty"`
	Window   *WindowRule   `json:"window,omitempty"` // of a GateWindow
}

// Needed is how many persons must approve.
func (g Gate) Needed() int { return max(g.Approvals, 1) }

// IsAnswered says whether persons open the gate.
func (g Gate) IsAnswered() bool { return g.Kind != GateWindow }

// SameGates says whether two lists of gates ask for the same.
func SameGates(a, b []Gate) bool {
	return slices.EqualFunc(a, b, func(a, b Gate) bool {
		rules := a.Window.same(b.Window)
		a.Window, b.Window = nil, nil
		return rules && a == b
	})
}

func (r *WindowRule) same(o *WindowRule) bool {
	if r == nil || o == nil {
		return r == o
	}
	return slices.Equal(r.Allow, o.Allow) && slices.Equal(r.Deny, o.Deny)
}

// WindowRule says when a gate is open: in one of the windows that it allows, where it
// names any, and in none of those that it denies.
type WindowRule struct {
	Allow []Window `json:"allow,omitempty"`
	Deny  []Window `json:"deny,omitempty"`
}

// Window is a stretch of time that comes again: it begins by a schedule in cron's form of
// five fields, in a time zone, and lasts for a duration.
type Window struct {
	Schedule string        `json:"schedule"`
	Duration time.Duration `json:"duration"`
	TimeZone string        `json:"timeZone"`
}
