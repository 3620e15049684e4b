package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/manifest"
	"github.com/tidegate/tidegate/internal/telemetry"
)

// Region does what needs a region's credentials: it plans, applies, waits and
// probes. It runs only on the queues of the regions that its worker serves.
type Region struct {
	// Kube returns a region that this worker serves; an error for any other.
	Kube  func(region string) (*kube.Region, error)
	Store Artifacts
	// MAC makes the keyed digests of plans and inventories. Every worker of an
	// installation has the same.
	MAC     manifest.MAC
	Metrics *telemetry.Metrics // may be nil
}

// Artifacts is what Region needs of the artifact store.
type Artifacts interface {
	Get(ctx context.Context, digest string) ([]byte, error)
	Put(ctx context.Context, kind string, data []byte) (digest string, err error)
}

// RolloutRef names the rollout on whose behalf an activity runs. Its number is the
// epoch that fences its writes.
type RolloutRef struct {
	Delivery string `json:"delivery"`
	Stage    string `json:"stage"`
	Number   int    `json:"number"`
	// Retry counts the retries of the rollout in one target.
	Retry int `json:"retry,omitempty"`
}

// String names a rollout: project/delivery/stage#number, and a retry of it by another
// number behind that.
func (r RolloutRef) String() string {
	name := fmt.Sprintf("%s/%s#%d", r.Delivery, r.Stage, r.Number)
	if r.Retry > 0 {
		name += fmt.Sprintf(".%d", r.Retry)
	}
	return name
}

func (r RolloutRef) claim(ctx context.Context) kube.Claim {
	return kube.Claim{Delivery: r.Delivery, Epoch: r.Number, Retry: r.Retry, Attempt: int(activity.GetInfo(ctx).Attempt)}
}

// caller is what a region's audit log shows.
func (r RolloutRef) caller(ctx context.Context) string {
	return fmt.Sprintf("rollout=%s attempt=%d", r, activity.GetInfo(ctx).Attempt)
}

// PlanInput names a bundle and the target that it is for.
type PlanInput struct {
	Target  gitops.Target `json:"target"`
	Bundle  gitops.Bundle `json:"bundle"`
	Rollout RolloutRef    `json:"rollout"`
	// Siblings are the other targets of the release that go to the same region.
	Siblings []Sibling `json:"siblings,omitempty"`
	// Preflight asks the region first whether it would take all that the plan writes.
	Preflight bool `json:"preflight,omitempty"`
	// Health are the catalog's own rules about kinds.
	Health []gitops.HealthRule `json:"health,omitempty"`
	// Scope is what was asked of this sync beyond the usual.
	Scope gitops.SyncScope `json:"scope,omitzero"`
	// Delete says that the target itself goes. The bundle is what was delivered there
	// last; it may be missing.
	Delete bool `json:"delete,omitempty"`
}

// Sibling is another target, with its bundle.
type Sibling struct {
	Target gitops.Target `json:"target"`
	Bundle gitops.Bundle `json:"bundle"`
}

// Plan compares a target's region with a bundle, keeps the plan as an artifact and
// returns its summary. A region that does not answer is no error: the summary says
// so.
func (r *Region) Plan(ctx context.Context, in PlanInput) (gitops.PlanSummary, error) {
	defer beat(ctx)()
	defer r.observe(in.Target.Region, "plan")()
	summary, err := r.plan(ctx, in)
	if lost := unreachable(err); lost != "" {
		r.count(in.Target.Region, "plan", err)
		return gitops.PlanSummary{Target: in.Target.Name, Region: in.Target.Region, Unreachable: lost}, nil
	}
	return summary, r.failed(ctx, in.Target.Region, "plan", err)
}

func (r *Region) plan(ctx context.Context, in PlanInput) (summary gitops.PlanSummary, err error) {
	region, err := r.Kube(in.Target.Region)
	if err != nil {
		return summary, err
	}
	input := kube.PlanInput{Target: in.Target, Digest: in.Bundle.Digest, MAC: r.MAC, Rollout: in.Rollout.String(), Preflight: in.Preflight, Health: in.Health, Scope: in.Scope}
	if in.Delete {
		input.DeletedBy = in.Rollout.Delivery
	}
	if in.Bundle.Digest != "" || !in.Delete {
		if input.Bundle, err = r.Store.Get(ctx, in.Bundle.Digest); err != nil {
			return summary, fmt.Errorf("read the bundle of %s: %w", in.Target.Name, err)
		}
	}
	for _, s := range in.Siblings {
		bundle, err := r.Store.Get(ctx, s.Bundle.Digest)
		if err != nil {
			return summary, fmt.Errorf("read the bundle of %s: %w", s.Target.Name, err)
		}
		input.Siblings = append(input.Siblings, kube.Sibling{Target: s.Target, Bundle: bundle})
	}
	plan, err := region.Plan(kube.WithCaller(ctx, in.Rollout.caller(ctx)), input)
	if err != nil {
		return summary, err
	}
	digest, err := r.put(ctx, "plan", plan)
	if err != nil {
		return summary, err
	}
	return plan.Summary(digest), nil
}

func (r *Region) put(ctx context.Context, kind string, v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode a %s: %w", kind, err)
	}
	digest, err := r.Store.Put(ctx, kind, data)
	if err != nil {
		return "", fmt.Errorf("keep a %s: %w", kind, err)
	}
	return digest, nil
}

func (r *Region) get(ctx context.Context, digest string, v any) error {
	data, err := r.Store.Get(ctx, digest)
	if err != nil {
		return fmt.Errorf("read artifact %s: %w", digest, err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("decode artifact %s: %w", digest, err)
	}
	return nil
}

// unreachable is why a region could not be worked with, if that is it.
func unreachable(err error) string {
	if errors.Is(err, kube.ErrUnreachable) {
		return clip(err.Error())
	}
	return ""
}

// observe measures how long one phase of a sync takes.
func (r *Region) observe(region, phase string) (stop func()) {
	started := time.Now()
	return func() {
		if r.Metrics != nil {
			r.Metrics.SyncDuration.WithLabelValues(region, phase).Observe(time.Since(started).Seconds())
		}
	}
}

// failed counts an error and classifies it. An activity that was told to end has
// not failed: whatever its calls say is because of that, unless it was fenced.
func (r *Region) failed(ctx context.Context, region, phase string, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(err, kube.ErrFenced) {
		return ctx.Err()
	}
	r.count(region, phase, err)
	return classify(err)
}

func (r *Region) count(region, phase string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) && r.Metrics != nil {
		kind, _ := classOf(err)
		r.Metrics.SyncErrors.WithLabelValues(region, phase, kind).Inc()
	}
}

// Issues go into histories: few of them, and short.
const (
	maxIssues       = 20
	maxIssueMessage = 400
)

func capped(issues []gitops.ObjectIssue) []gitops.ObjectIssue {
	out := make([]gitops.ObjectIssue, 0, min(len(issues), maxIssues+1))
	for i, issue := range issues {
		if i == maxIssues {
			more := fmt.Sprintf("and %d more", len(issues)-maxIssues)
			return append(out, gitops.ObjectIssue{Object: more, Health: issue.Health, Message: "see the rollout's record"})
		}
		if len(issue.Message) > maxIssueMessage {
			issue.Message = issue.Message[:maxIssueMessage] + " …"
		}
		out = append(out, issue)
	}
	return out
}
