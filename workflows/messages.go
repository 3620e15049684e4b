package workflows

import (
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// Search attributes that every Temporal namespace used by Tidegate must have;
// the worker registers them when it starts.
var (
	AttrDelivery   = temporal.NewSearchAttributeKeyKeyword("TidegateDelivery")
	AttrStage      = temporal.NewSearchAttributeKeyKeyword("TidegateStage")
	AttrPhase      = temporal.NewSearchAttributeKeyKeyword("TidegatePhase")
	AttrRelease    = temporal.NewSearchAttributeKeyInt64("TidegateRelease")
	AttrRevision   = temporal.NewSearchAttributeKeyKeyword("TidegateRevision")
	AttrRepository = temporal.NewSearchAttributeKeyKeyword("TidegateRepository")
)

// SearchAttributes are the names of all of them, with their types.
func SearchAttributes() map[string]enumspb.IndexedValueType {
	attributes := map[string]enumspb.IndexedValueType{}
	for _, key := range []temporal.SearchAttributeKey{AttrDelivery, AttrStage, AttrPhase, AttrRelease, AttrRevision, AttrRepository} {
		attributes[key.GetName()] = key.GetValueType()
	}
	return attributes
}

// Names of signals, updates and queries.
const (
	SignalHint          = "hint"          // Push: Hint
	SignalEvent         = "event"         // Delivery: promotion.Event
	SignalSpecification = "specification" // Delivery: Specification
	SignalApprove       = "approve"       // Rollout: Decision
	SignalReject        = "reject"        // Rollout: Decision
	SignalGrant         = "grant"         // Rollout: Grant
	SignalSupersede     = "supersede"     // Rollout: Stop
	SignalClose         = "close"         // Rollout: Stop
	SignalRefresh       = "refresh"       // Catalog: nothing
	SignalReport        = "report"        // Rollout: nothing; it reports again

	UpdateApprove  = "approve"  // Rollout: Decision → DecisionResult
	UpdateReject   = "reject"   // Rollout: Decision → DecisionResult
	UpdateAbort    = "abort"    // Rollout: Abort → DecisionResult
	UpdateSync     = "sync"     // Delivery: SyncRequest → SyncResult
	UpdateRollback = "rollback" // Delivery: RollbackRequest → RollbackResult
	UpdateAbandon  = "abandon"  // Delivery: AbandonRequest → AbandonResult

	QueryStatus = "status" // Delivery: promotion.Status; Rollout: RolloutStatus; Catalog: CatalogStatus
	QueryState  = "state"  // Delivery: promotion.State
)

// PushInput starts a Push.
type PushInput struct {
	Ref gitops.Ref `json:"ref"`
}

// Hint says that a ref may have moved. It is never believed: Git is asked.
type Hint struct {
	Commit string `json:"commit,omitempty"` // what the sender believes the head to be; may be empty
	From   string `json:"from"`             // "github <delivery id>", "poll", "delivery"
	// For is a Delivery that must be told where the ref stands even if nothing has
	// moved: it is new, or has lost its memory.
	For string `json:"for,omitempty"`
}

// PushResult is how a Push ended.
type PushResult struct {
	Commit string `json:"commit"`
	// Deliveries are those that were told.
	Deliveries []string `json:"deliveries,omitempty"`
	Message    string   `json:"message"`
}

// DeliveryInput starts a Delivery, or goes on with one in a new run.
type DeliveryInput struct {
	Key string `json:"key"`
	// State is nil at the very first start and after a loss; the checkpoint is
	// read then.
	State *promotion.State `json:"state,omitempty"`
	// Inbox are events that the run before had not handled.
	Inbox []promotion.Event `json:"inbox,omitempty"`
	// Specification is one that the run before had not taken in.
	Specification *Specification `json:"specification,omitempty"`
}

// Specification tells a Delivery that the catalog declares it differently, or no
// longer.
type Specification struct {
	Digest  string `json:"digest,omitempty"` // of the artifact that holds the gitops.Delivery
	Retired bool   `json:"retired,omitempty"`
}

// SyncRequest asks a Delivery to deliver its newest release now: it opens
// implied sync gates and retries what failed.
type SyncRequest struct {
	By string `json:"by"`
	// Scope is what is asked beyond the usual: what was started last is delivered again
	// then, to that extent, to the Targets; to all when there are no names.
	Scope   *gitops.SyncScope `json:"scope,omitempty"`
	Targets []string          `json:"targets,omitempty"`
}

// SyncResult answers a SyncRequest.
type SyncResult struct {
	Message string `json:"message"`
}

// RollbackRequest asks a Delivery to take a stage back to a release that was healthy
// there: to the one before when it names none.
type RollbackRequest struct {
	By      string `json:"by"`
	Reason  string `json:"reason"`
	Stage   string `json:"stage"`
	Release int    `json:"release,omitempty"`
}

// RollbackResult answers a RollbackRequest.
type RollbackResult struct {
	Message string `json:"message"`
}

// AbandonRequest asks a Delivery to leave the objects of targets that are to be deleted
// where they are: of those named, of all when there are no names.
type AbandonRequest struct {
	By      string   `json:"by"`
	Targets []string `json:"targets,omitempty"`
}

// AbandonResult answers an AbandonRequest.
type AbandonResult struct {
	Message string `json:"message"`
}

// RolloutInput starts a Rollout: one release into one stage.
type RolloutInput struct {
	Delivery string        `json:"delivery"` // project/name
	Stage    string        `json:"stage"`
	Number   int           `json:"number"` // the rollout's own counter within the Delivery: its epoch
	Release  int           `json:"release"`
	Revision string        `json:"revision"`
	Targets  []TargetInput `json:"targets"`
	Gates    []gitops.Gate `json:"gates,omitempty"`
	Granted  bool          `json:"granted"` // holds the stage's lock from the start
	CatchUp  bool          `json:"catchUp,omitempty"`
	// Delete says that the targets are to be deleted; there is no release.
	Delete bool `json:"delete,omitempty"`
	// Rollback says that the release was here before.
	Rollback bool `json:"rollback,omitempty"`
	// Strategy says how the release goes through the targets; nil for all at once.
	Strategy *gitops.Strategy `json:"strategy,omitempty"`
	// Scope is what somebody asked of this sync beyond the usual.
	Scope *gitops.SyncScope `json:"scope,omitempty"`
	// Health are the catalog's own rules about kinds.
	Health []gitops.HealthRule `json:"health,omitempty"`
}

// PreviewInput asks what a sync would do.
type PreviewInput struct {
	Delivery string         `json:"delivery"`
	Stages   []PreviewStage `json:"stages"`
}

// PreviewStage is a release, and the targets of a stage that it would go to.
type PreviewStage = RolloutInput

// PreviewResult is the plans of the stages, as if they were rollouts without a number.
type PreviewResult struct {
	Stages []RolloutStatus `json:"stages"`
}

// TargetInput is one target of a Rollout and what it is to become.
type TargetInput struct {
	Target gitops.Target `json:"target"`
	Bundle gitops.Bundle `json:"bundle"`
}

// Grant gives a Rollout its stage's lock.
type Grant struct{}

// Stop asks a Rollout to end: at its next safe point, or at once at a gate.
type Stop struct {
	Reason string `json:"reason"`
}

// Abort ends a Rollout: waits end at once, hooks that are at work are deleted, and
// what is being written may go on for yieldAfter.
type Abort struct {
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
}

// Decision is somebody's answer to a gate. It counts only when it names the
// plan that was shown.
type Decision struct {
	Gate       string `json:"gate"`
	PlanDigest string `json:"planDigest"`
	By         string `json:"by"`
	Reason     string `json:"reason,omitempty"`
}

// DecisionResult answers a Decision made by an update.
type DecisionResult struct {
	Message string `json:"message"`
}

// DecisionRecord is a decision as it was taken or refused.
type DecisionRecord struct {
	Decision
	Verb     string    `json:"verb"` // approve or reject
	At       time.Time `json:"at"`
	Accepted bool      `json:"accepted"`
	Refusal  string    `json:"refusal,omitempty"` // why it did not count
}

// RolloutResult is how a Rollout ended: its last report, in case that one was
// lost. Its status tells the rest.
type RolloutResult struct {
	Phase   gitops.Phase              `json:"phase"`
	Message string                    `json:"message,omitempty"`
	Targets []promotion.TargetOutcome `json:"targets,omitempty"`
}

// RolloutStatus is the whole state of a Rollout, for the API and for people.
type RolloutStatus struct {
	Delivery string         `json:"delivery"`
	Stage    string         `json:"stage"`
	Number   int            `json:"number"`
	Release  int            `json:"release"`
	Revision string         `json:"revision"`
	Phase    gitops.Phase   `json:"phase"`
	Message  string         `json:"message,omitempty"`
	CatchUp  bool           `json:"catchUp,omitempty"`
	Delete   bool           `json:"delete,omitempty"`
	Rollback bool           `json:"rollback,omitempty"`
	Started  time.Time      `json:"started"`
	Finished *time.Time     `json:"finished,omitempty"`
	Gates    []GateStatus   `json:"gates,omitempty"`
	Targets  []TargetStatus `json:"targets"`
	// Batch is the one that has its turn, of Batches; 0 where there is one only.
	Batch     int              `json:"batch,omitempty"`
	Batches   int              `json:"batches,omitempty"`
	Decisions []DecisionRecord `json:"decisions,omitempty"`
	// PlanDigest is what an approval must name; it covers every target's plan.
	PlanDigest string `json:"planDigest,omitempty"`
	// Timings is when each part was finished, in seconds since Started.
	Timings map[string]float64 `json:"timings,omitempty"`
}

// GateStatus is one gate of a Rollout.
type GateStatus struct {
	gitops.Gate
	State string `json:"state"` // waiting, open, rejected
	By    string `json:"by,omitempty"`
	// Approved are who has approved the plan, of those that are needed.
	Approved []string   `json:"approved,omitempty"`
	Since    *time.Time `json:"since,omitempty"`
	// Message says what the gate waits for.
	Message string `json:"message,omitempty"`
}

// TargetStatus is one target of a Rollout.
type TargetStatus struct {
	Name    string               `json:"name"`
	Region  string               `json:"region"`
	Phase   gitops.TargetPhase   `json:"phase"`
	Health  gitops.HealthStatus  `json:"health,omitempty"`
	Step    int                  `json:"step"`           // steps finished
	Steps   int                  `json:"steps"`          // steps in the plan
	Wave    string               `json:"wave,omitempty"` // the current step: "Sync wave 0"
	Apply   int                  `json:"apply"`
	Prune   int                  `json:"prune"`
	Message string               `json:"message,omitempty"`
	Issues  []gitops.ObjectIssue `json:"issues,omitempty"`
	Changes []string             `json:"changes,omitempty"`
	// ChangesDigest is the same for targets in which the same changes; Tried says that
	// their regions were asked, and would take it.
	ChangesDigest string `json:"changesDigest,omitempty"`
	Tried         bool   `json:"tried,omitempty"`
	// Unstable are the calls of a chart that give other objects each time.
	Unstable []string `json:"unstable,omitempty"`
}

// WaitQueue is the task queue on which a target of a region waits for health.
// What its activity says is a sentence for people.
func WaitQueue(region string) string { return activities.RegionWaitQueue(region) }

// CatalogInput starts the Catalog workflow, or goes on with it.
type CatalogInput struct {
	Status CatalogStatus `json:"status"`
}

// CatalogStatus is what the Catalog workflow knows.
type CatalogStatus struct {
	Digest     string            `json:"digest"`
	Deliveries map[string]string `json:"deliveries"` // key → digest of its specification
	Problems   []gitops.Problem  `json:"problems,omitempty"`
	Loaded     time.Time         `json:"loaded"`
}

// PollInput starts the Poll workflow.
type PollInput struct{}
