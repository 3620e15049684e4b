package promotion

import "github.com/tidegate/tidegate/internal/gitops"

// CommandKind tells what is to be done, and with it which fields of a Command
// count.
type CommandKind string

// The commands.
const (
	// Render asks for the bundles of every target of the present specification at
	// the heads in Sources. It ends with a Rendered or RenderFailed event that
	// carries the same Render number. At most one is under way.
	Render CommandKind = "Render"
	// StartRollout starts rollout number Rollout (its epoch) of Release into Stage,
	// for Targets. Granted says that it holds the stage's lock from the start; else
	// it waits at Gates. CatchUp says that only targets that were unreachable are
	// brought up to what the others already run. Delete says that Targets, which are
	// among Leaving, are to be deleted; there is no Release then.
	// Back says that it is a rollback. With a Scope only that much of the release is delivered, to some targets.
	StartRollout CommandKind = "StartRollout"
	// Grant gives the stage's lock to a rollout that said Approved.
	Grant CommandKind = "Grant"
	// Supersede asks the running rollout to stop at its next safe point, since
	// Release wants the stage (0: the stage was retired).
	Supersede CommandKind = "Supersede"
	// CloseRollout asks a candidate to end, with the Reason.
	CloseRollout CommandKind = "CloseRollout"
	// Approve opens Gate of a candidate in the name of By, for the plan PlanDigest.
	Approve CommandKind = "Approve"
	// Probe asks Region until it answers, then sends RegionRecovered.
	Probe CommandKind = "Probe"
	// Checkpoint asks for the new state to be kept outside of Temporal.
	Checkpoint CommandKind = "Checkpoint"
)

// Command is something that must be done because of a decision. Commands are
// carried out in order; each is safe to carry out twice.
type Command struct {
	Kind CommandKind `json:"kind"`

	Stage   string            `json:"stage,omitempty"`
	Rollout int               `json:"rollout,omitempty"`
	Release int               `json:"release,omitempty"`
	Targets []string          `json:"targets,omitempty"` // names, sorted
	Gates   []gitops.Gate     `json:"gates,omitempty"`
	Granted bool              `json:"granted,omitempty"`
	CatchUp bool              `json:"catchUp,omitempty"`
	Back    bool              `json:"back,omitempty"`
	Delete  bool              `json:"delete,omitempty"`
	Scope   *gitops.SyncScope `json:"scope,omitempty"`

	Gate       string `json:"gate,omitempty"`
	PlanDigest string `json:"planDigest,omitempty"`
	By         string `json:"by,omitempty"`
	Reason     string `json:"reason,omitempty"`

	Render  int                     `json:"render,omitempty"`
	Spec    string                  `json:"spec,omitempty"` // digest of the specification to render
	Sources []gitops.ResolvedSource `json:"sources,omitempty"`

	Region string `json:"region,omitempty"`
}
