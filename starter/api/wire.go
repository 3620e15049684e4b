package api

import (
	"time"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// Prefix begins every path of the API.
const Prefix = "/api/v1"

// Deliveries is every Delivery of the catalog, by name.
type Deliveries struct {
	Deliveries []Delivery `json:"deliveries"`
}

// Delivery is where one Delivery stands, or why that is not known.
type Delivery struct {
	Delivery string            `json:"delivery"` // project/name
	Status   *promotion.Status `json:"status,omitempty"`
	Error    string            `json:"error,omitempty"`
}

// Targets is a selection of targets, by Delivery, stage and name.
type Targets struct {
	Targets []Target `json:"targets"`
	// Errors says which Deliveries did not answer, and why.
	Errors []string `json:"errors,omitempty"`
}

// Target is where one target stands.
type Target struct {
	Delivery string `json:"delivery"`
	promotion.TargetStatus
}

// Rollouts is the rollouts that Deliveries remember, newest first in each.
type Rollouts struct {
	Rollouts []Rollout `json:"rollouts"`
	Errors   []string  `json:"errors,omitempty"`
}

// Rollout is one release going, or gone, into one stage.
type Rollout struct {
	ID       string `json:"id"` // project/name/stage/number
	Delivery string `json:"delivery"`
	Stage    string `json:"stage"`
	Number   int    `json:"number"`
	Release  int    `json:"release"`
	Revision string `json:"revision,omitempty"`
	// Commits are all that the release stands for: its sources' and later ones
	// that rendered to the same.
	Commits    []string     `json:"commits,omitempty"`
	Phase      gitops.Phase `json:"phase"`
	Message    string       `json:"message,omitempty"`
	Gates      []string     `json:"gates,omitempty"`
	PlanDigest string       `json:"planDigest,omitempty"`
	CatchUp    bool         `json:"catchUp,omitempty"`
	Delete     bool         `json:"delete,omitempty"`
	Rollback   bool         `json:"rollback,omitempty"`

	Healthy     int        `json:"healthy"` // targets
	Broken      int        `json:"broken"`
	Unreachable int        `json:"unreachable"`
	Total       int        `json:"total"`
	Started     time.Time  `json:"started"`
	Finished    *time.Time `json:"finished,omitempty"`
}

// Decision is somebody's answer to a gate. PlanDigest is the plan that they
// have seen: the decision does not count for another one.
type Decision struct {
	Gate       string `json:"gate" minLength:"1"`
	PlanDigest string `json:"planDigest" minLength:"1"`
	By         string `json:"by" minLength:"1" doc:"who decides"`
	Reason     string `json:"reason,omitempty"`
}

// Abort asks a rollout to end.
type Abort struct {
	By     string `json:"by" minLength:"1" doc:"who aborts"`
	Reason string `json:"reason,omitempty"`
}

// Sync asks a Delivery to deliver its newest release now.
type Sync struct {
	By        string   `json:"by" minLength:"1" doc:"who asks"`
	Targets   []string `json:"targets,omitempty" doc:"only these, with resources or prune; all of them when empty"`
	Resources []string `json:"resources,omitempty" doc:"only these objects, as GROUP:KIND:NAME or GROUP:KIND:NAMESPACE/NAME, with * and !; hooks do not run"`
	Prune     bool     `json:"prune,omitempty" doc:"prune, whatever the policy of the targets says"`
}

// scope is what is asked beyond the usual; nil when that is nothing.
func (s Sync) scope() *gitops.SyncScope {
	scope := gitops.SyncScope{Resources: s.Resources, Prune: s.Prune}
	if scope.IsZero() {
		return nil
	}
	return &scope
}

// Rollback asks a Delivery to take a stage back to a release that was healthy there.
type Rollback struct {
	By      string `json:"by" minLength:"1" doc:"who asks"`
	Reason  string `json:"reason" minLength:"1"`
	Stage   string `json:"stage" minLength:"1"`
	Release int    `json:"release,omitempty" doc:"the one before when it is left out"`
}

// Abandon asks a Delivery to leave the objects of targets that are to be deleted.
type Abandon struct {
	By      string   `json:"by" minLength:"1" doc:"who asks"`
	Targets []string `json:"targets,omitempty" doc:"all of them when empty"`
}

// Outcome is what became of a request, in words for people.
type Outcome struct {
	Message string `json:"message"`
}

// KeyHeader names the request header that makes a repeated request the same
// one: a workflow carries it out once.
const KeyHeader = "Idempotency-Key"
