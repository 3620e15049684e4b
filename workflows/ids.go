package workflows

import (
	"fmt"
	"strings"
	"time"

	"github.com/tidegate/tidegate/internal/gitops"
)

// The workflow types, as registered and as shown in the Temporal Web UI.
const (
	PushType     = "Push"
	DeliveryType = "Delivery"
	RolloutType  = "Rollout"
	CatalogType  = "Catalog"
	PollType     = "Poll"
	PreviewType  = "Preview"
)

// TaskQueue serves every workflow and the activities that need neither a
// sandbox nor a region. The other queues are named in package activities.
const TaskQueue = "tidegate"

// TaskTimeout is how long one step of a workflow's code may take before another
// worker takes it over: what a worker costs that was killed in the middle of one.
const TaskTimeout = 5 * time.Second

// The workflows of which there is one.
const (
	CatalogID = "catalog"
	PollID    = "poll"
)

// PushID is the id of the Push workflow of a ref: push/<repository>/<revision>.
func PushID(ref gitops.Ref) string { return "push/" + ref.Repository + "/" + ref.Revision }

// DeliveryID is the id of a Delivery's workflow: delivery/<project>/<name>. The
// key is gitops.Delivery.Key.
func DeliveryID(key string) string { return "delivery/" + key }

// RolloutID is the id of a Rollout: rollout/<project>/<name>/<stage>/<number>.
func RolloutID(delivery, stage string, number int) string {
	return fmt.Sprintf("rollout/%s/%s/%d", delivery, stage, number)
}

// PreviewID is the id of a Preview: preview/<project>/<name>/<key>.
func PreviewID(delivery, key string) string { return "preview/" + delivery + "/" + key }

// DeliveryKey is the inverse of DeliveryID; ok is false for any other id.
func DeliveryKey(id string) (key string, ok bool) { return strings.CutPrefix(id, "delivery/") }
