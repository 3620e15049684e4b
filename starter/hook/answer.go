package hook

import (
	"net/http"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/webhook"
)

// Answer is what a Git host is told, and shows in its log of deliveries. It
// comes with 202 when a workflow has the hint, with 200 when there was nothing
// to do, with 400, 401 or 413 when the request is refused, and with 503 when it
// should be sent again.
type Answer struct {
	// WorkflowID is the Push workflow that was told; WorkflowIDs are all of them.
	WorkflowID  string   `json:"workflowId,omitempty"`
	WorkflowIDs []string `json:"workflowIds,omitempty"`
	Repository  string   `json:"repository,omitempty"` // its identity
	Ref         string   `json:"ref,omitempty"`
	Commit      string   `json:"commit,omitempty"`
	// Reason says why no workflow was told.
	Reason string `json:"reason,omitempty"`
}

// result is an Answer with its status and its name in the metrics.
type result struct {
	Answer
	status  int
	outcome string
}

func nothingToDo(outcome, reason string) result {
	return result{outcome: outcome, status: http.StatusOK, Answer: Answer{Reason: reason}}
}

// unavailable asks for the delivery to be sent again.
func unavailable(err error) result {
	return result{outcome: "unavailable", status: http.StatusServiceUnavailable, Answer: Answer{Reason: err.Error() + "; send it again"}}
}

// eventType is a metric's label: one of a few, whatever the sender says.
func eventType(e webhook.Event) string {
	switch e.Name {
	case "push", "ping":
		return e.Name
	case "":
		return "unknown"
	default:
		return "other"
	}
}

// mayMove says whether a pushed ref can be what a revision of the catalog
// names. HEAD may be any branch: only the server knows which.
func mayMove(pushed, revision string) bool {
	branch, isBranch := strings.CutPrefix(pushed, "refs/heads/")
	tag, isTag := strings.CutPrefix(pushed, "refs/tags/")
	switch revision {
	case "", "HEAD":
		return isBranch
	case pushed, strings.TrimPrefix(pushed, "refs/"):
		return true
	default:
		return revision == branch || revision == tag || isTag && gitops.MayBeRange(revision)
	}
}
