package promotion

import (
	"time"

	"github.com/tidegate/tidegate/internal/gitops"
)

// EventKind tells what happened, and with it which fields of an Event count.
type EventKind string

// The events.
const (
	// SpecChanged brings a new specification in Spec.
	SpecChanged EventKind = "SpecChanged"
	// Retired says that the catalog no longer declares the Delivery.
	Retired EventKind = "Retired"
	// DeletionAbandoned says that somebody (By) wants the objects of targets that are
	// to be deleted to stay: of those in Names, of all when it is empty.
	DeletionAbandoned EventKind = "DeletionAbandoned"
	// HeadMoved says that Ref points at Commit. Seq orders the heads of one ref; an
	// older or equal one is ignored.
	HeadMoved EventKind = "HeadMoved"
	// HeadMissing says that Git no longer has Ref, with the reason in Message. It
	// is a condition for people, never a change: the last head stays.
	HeadMissing EventKind = "HeadMissing"
	// Rendered is the good end of the Render command numbered Render: Bundles, and
	// the Sources they were made from.
	Rendered EventKind = "Rendered"
	// RenderFailed is the bad end of the Render command numbered Render, with the
	// reason in Message. It is not tried again until a head or the specification
	// moves, or somebody syncs.
	RenderFailed EventKind = "RenderFailed"
	// RolloutReported is what a rollout says of itself: Stage, Rollout, Phase,
	// Message, PlanDigest and what Targets met. Seq numbers the reports of one
	// rollout from 1, so that a late or repeated one is ignored; 0 is unordered.
	RolloutReported EventKind = "RolloutReported"
	// RolloutGone says that the workflow of a rollout is closed. Phase and Targets
	// are its result, if it has one: its last report was lost then. Without a final
	// phase it was terminated, and counts as aborted.
	RolloutGone EventKind = "RolloutGone"
	// SyncRequested is somebody (By) who asks for delivery now: candidates that
	// wait for a sync are approved, failed releases are retried, and when there is
	// neither, what was last started is delivered again. Names limits it to the
	// stages with one of these targets. With a Scope it is only ever the last of these:
	// what was started last is delivered again, to that extent, to these targets.
	SyncRequested EventKind = "SyncRequested"
	// ReopenRequested asks for the candidate of Release at the gate of Stage again,
	// after it was closed for newer ones or rejected.
	ReopenRequested EventKind = "ReopenRequested"
	// RollbackRequested is somebody (By, with the reason in Message) who wants Stage to go
	// back to Release, past its gates. What the stage runs is quarantined: nothing that
	// renders to the same is delivered any more.
	RollbackRequested EventKind = "RollbackRequested"
	// RegionRecovered says that Region answers again.
	RegionRecovered EventKind = "RegionRecovered"
)

// Event is something that happened to a Delivery. Fields that its kind does not
// name are ignored, and an event that makes no sense in a state changes nothing.
type Event struct {
	Kind EventKind `json:"kind"`
	At   time.Time `json:"at"`

	Spec *gitops.Delivery `json:"spec,omitempty"`

	Ref    *gitops.Ref `json:"ref,omitempty"`
	Commit string      `json:"commit,omitempty"`
	Seq    int64       `json:"seq,omitempty"`

	Render  int                     `json:"render,omitempty"`
	Sources []gitops.ResolvedSource `json:"sources,omitempty"`
	Bundles []gitops.Bundle         `json:"bundles,omitempty"`

	Stage      string          `json:"stage,omitempty"`
	Rollout    int             `json:"rollout,omitempty"`
	Phase      gitops.Phase    `json:"phase,omitempty"`
	Targets    []TargetOutcome `json:"targets,omitempty"`
	PlanDigest string          `json:"planDigest,omitempty"`

	By      string            `json:"by,omitempty"`
	Names   []string          `json:"names,omitempty"`
	Scope   *gitops.SyncScope `json:"scope,omitempty"`
	Release int               `json:"release,omitempty"`
	Region  string            `json:"region,omitempty"`
	Message string            `json:"message,omitempty"`
}

// TargetOutcome is where one target of a rollout stands.
type TargetOutcome struct {
	Name    string              `json:"name"`
	Phase   gitops.TargetPhase  `json:"phase"`
	Health  gitops.HealthStatus `json:"health,omitempty"`
	Message string              `json:"message,omitempty"`
	// Begun says of an unreachable or stopped target that objects may have been
	// written to it.
	Begun bool `json:"begun,omitempty"`
	// Kept are objects that stay although they are no longer declared: the target
	// is OutOfSync.
	Kept int `json:"kept,omitempty"`
}
