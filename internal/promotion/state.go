package promotion

import (
	"time"

	"github.com/tidegate/tidegate/internal/gitops"
)

// StateVersion is the form of State that this code writes. A field may be added
// under the same version; another meaning needs another version.
const StateVersion = 1

// Bounds of what a State remembers.
const (
	maxWaiting   = 5  // candidates that wait at one stage
	maxYields    = 2  // rollouts in a row that are cut short while they progress
	maxReleases  = 20 // besides those that are in use
	maxRollouts  = 40 // ended ones
	maxRevisions = 10 // noted on one release
	maxStray     = 16 // heads of refs that the specification does not follow
)

// State is all that a Delivery knows. It travels through continue-as-new and
// checkpoints as JSON. The zero value is a Delivery without a specification.
type State struct {
	Version int             `json:"version"`
	Spec    gitops.Delivery `json:"spec"`
	Heads   []Head          `json:"heads,omitempty"`
	Render  RenderState     `json:"render"`

	Releases    []gitops.Release `json:"releases,omitempty"` // oldest first
	NextRelease int              `json:"nextRelease"`
	NextRollout int              `json:"nextRollout"`
	// Floor is the oldest release that may still start: those before it were made
	// for targets that have moved to another region or namespace since.
	Floor int `json:"floor,omitempty"`

	// Stages are those of the specification, in its order, then those that were
	// retired while a rollout of theirs was open.
	Stages  []StageState  `json:"stages,omitempty"`
	Targets []TargetState `json:"targets,omitempty"` // sorted by name
	// Leaving are targets that are no longer declared and whose objects are to be
	// deleted, sorted by name; Deletion is the rollout that does so, while one is open.
	Leaving  []Leaving `json:"leaving,omitempty"`
	Deletion *Rollout  `json:"deletion,omitempty"`
	// Retired says that the catalog no longer declares the Delivery.
	Retired  bool      `json:"retired,omitempty"`
	Rollouts []Rollout `json:"rollouts,omitempty"` // ended ones, oldest first
	// Quarantined are releases that rollbacks have left behind, oldest first.
	Quarantined []Quarantined `json:"quarantined,omitempty"`
	// Probing are the regions that are asked until they answer, sorted.
	Probing    []string    `json:"probing,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"`
}

// Head is what a ref was last seen to point at.
type Head struct {
	Ref    gitops.Ref `json:"ref"`
	Seq    int64      `json:"seq"`
	Commit string     `json:"commit"`
}

// RenderState is the bookkeeping of Render commands.
type RenderState struct {
	Number  int  `json:"number"`            // of the last Render command
	Running bool `json:"running,omitempty"` // its end was not seen yet
	// Dirty says that a head or the specification has moved since it was given.
	Dirty bool `json:"dirty,omitempty"`
	// Stale says that the one under way is for a place that a target has left.
	Stale bool `json:"stale,omitempty"`
	// Spec, Targets and Sources are what it was given: the specification's digest,
	// a digest over the targets alone, and the heads.
	Spec    string                  `json:"spec,omitempty"`
	Targets string                  `json:"targets,omitempty"`
	Sources []gitops.ResolvedSource `json:"sources,omitempty"`
	// Released is Targets of the newest release.
	Released string `json:"released,omitempty"`
	Error    string `json:"error,omitempty"` // why the last one failed
}

// StageState is where one stage stands. Numbers are releases; 0 is none.
type StageState struct {
	Name    string `json:"name"`
	Retired bool   `json:"retired,omitempty"` // no longer in the specification
	Current int    `json:"current,omitempty"` // the last one that was healthy here
	// LastStarted is the newest one whose rollout was given the lock. Nothing older
	// starts here any more.
	LastStarted int `json:"lastStarted,omitempty"`
	Offered     int `json:"offered,omitempty"` // the newest one that was let in
	Passed      int `json:"passed,omitempty"`  // the newest one that was let on to the next stage
	Failed      int `json:"failed,omitempty"`  // the one that failed last and is not retried
	// Next queues for the lock; it has no gate to wait at.
	Next    int       `json:"next,omitempty"`
	Back    bool      `json:"back,omitempty"`    // Next is what the stage rolls back to
	Running *Rollout  `json:"running,omitempty"` // holds the lock
	Waiting []Rollout `json:"waiting,omitempty"` // at a gate, in order of their start
	// Yields counts the rollouts that were cut short while they progressed, since
	// the stage was last healthy.
	Yields int `json:"yields,omitempty"`
}

// Rollout is one release going into one stage.
type Rollout struct {
	Number  int           `json:"number"`
	Release int           `json:"release"`
	Stage   string        `json:"stage"`
	Phase   gitops.Phase  `json:"phase"`
	Message string        `json:"message,omitempty"`
	Targets []string      `json:"targets,omitempty"` // names, sorted; of open ones only
	Gates   []gitops.Gate `json:"gates,omitempty"`
	CatchUp bool          `json:"catchUp,omitempty"`
	Back    bool          `json:"back,omitempty"`   // a rollback
	Delete  bool          `json:"delete,omitempty"` // deletes its targets; there is no Release
	// Scope is what somebody asked of it beyond the usual; it is a catch-up then.
	Scope *gitops.SyncScope `json:"scope,omitempty"`
	// Reopened says that it replaces a candidate that was terminated from outside;
	// that happens once.
	Reopened   bool   `json:"reopened,omitempty"`
	PlanDigest string `json:"planDigest,omitempty"`
	SyncBy     string `json:"syncBy,omitempty"` // who asked for a sync while the plan was being made
	// Carried is the plan that the candidate before it was approved for, as it was
	// being closed; the approval goes on when the plan comes out the same.
	Carried string `json:"carried,omitempty"`
	// Stopping says that it was asked to end: superseded when it runs, closed when
	// it waits.
	Stopping bool  `json:"stopping,omitempty"`
	Soaking  bool  `json:"soaking,omitempty"` // is healthy so far, and watched for a while
	AtGate   bool  `json:"atGate,omitempty"`  // runs, but nothing moves until a prune is approved
	Report   int64 `json:"report,omitempty"`  // Seq of the last report
	// Before is the stage's LastStarted before this one was given the lock.
	Before int `json:"before,omitempty"`
	// FailedBefore is the stage's Failed before that.
	FailedBefore int `json:"failedBefore,omitempty"`
	// Lost are the targets that it could not reach.
	Lost []string `json:"lost,omitempty"`

	Healthy     int       `json:"healthy,omitempty"` // targets, as last reported
	Broken      int       `json:"broken,omitempty"`
	Unreachable int       `json:"unreachable,omitempty"`
	Total       int       `json:"total"`
	Started     time.Time `json:"started"`
	Granted     time.Time `json:"granted,omitzero"` // when it was given the lock
	Finished    time.Time `json:"finished,omitzero"`
}

// TargetState is what is known of one target.
type TargetState struct {
	Name      string              `json:"name"`
	Stage     string              `json:"stage"`
	Region    string              `json:"region"`
	Namespace string              `json:"namespace"`
	Release   int                 `json:"release,omitempty"` // the last one that was begun here
	Phase     gitops.TargetPhase  `json:"phase,omitempty"`   // how far it got
	Sync      gitops.SyncStatus   `json:"sync"`
	Health    gitops.HealthStatus `json:"health"`
	Message   string              `json:"message,omitempty"`
	Kept      int                 `json:"kept,omitempty"` // objects that stay although they are no longer declared
	// Unreachable says that its region did not answer; Behind, that it does again
	// and the target must catch up.
	Unreachable bool      `json:"unreachable,omitempty"`
	Behind      bool      `json:"behind,omitempty"`
	Since       time.Time `json:"since,omitzero"` // of Sync and Health
}

// Leaving is a target that is no longer declared, and was with the finalizer that
// has its objects deleted then.
type Leaving struct {
	Target gitops.Target `json:"target"` // as it was declared last
	// Release is the last one that was begun there, and Bundle what it had for the
	// target: its hooks of a deletion run.
	Release int           `json:"release"`
	Bundle  gitops.Bundle `json:"bundle"`
	// Unreachable says that its region does not answer, Failed that deleting it has
	// failed and is not tried again unasked.
	Unreachable bool      `json:"unreachable,omitempty"`
	Failed      bool      `json:"failed,omitempty"`
	Message     string    `json:"message,omitempty"`
	Since       time.Time `json:"since"`
}

// ConditionKind names a class of Condition.
type ConditionKind string

// The conditions.
const (
	RefMissing   ConditionKind = "RefMissing"   // Subject is the ref
	RenderBroken ConditionKind = "RenderBroken" // no Subject
)

// Condition is something that people should know and that does not go away by
// itself.
type Condition struct {
	Kind    ConditionKind `json:"kind"`
	Subject string        `json:"subject,omitempty"`
	Message string        `json:"message"`
	Since   time.Time     `json:"since"`
}

// String is what people read: kind, subject where there is one, message.
func (c Condition) String() string {
	if c.Subject == "" {
		return string(c.Kind) + ": " + c.Message
	}
	return string(c.Kind) + " " + c.Subject + ": " + c.Message
}

// New returns the state of a Delivery that has just been declared.
func New(spec gitops.Delivery) State {
	m := machine{State: State{}.clone()}
	m.adopt(spec)
	m.Render.Dirty = true
	return m.State
}

// Release returns the numbered release, and whether it is still remembered.
func (s State) Release(number int) (gitops.Release, bool) {
	for _, r := range s.Releases {
		if r.Number == number {
			return r, true
		}
	}
	return gitops.Release{}, false
}

// Newest is the number of the newest release; 0 before the first.
func (s State) Newest() int {
	if n := len(s.Releases); n > 0 {
		return s.Releases[n-1].Number
	}
	return 0
}

// OpenRollouts returns every rollout whose end was not seen yet, by number.
func (s State) OpenRollouts() []Rollout {
	var open []Rollout
	for _, st := range s.Stages {
		if st.Running != nil {
			open = append(open, *st.Running)
		}
		open = append(open, st.Waiting...)
	}
	if s.Deletion != nil {
		open = append(open, *s.Deletion)
	}
	sortRollouts(open)
	return open
}
