package activities

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/kube"
)

// SoakInput is a target to which a plan was delivered.
type SoakInput struct {
	Target gitops.Target `json:"target"`
	Plan   string        `json:"plan"` // digest of the artifact
	// For is how long it must be healthy without a break, Patience how long it may be
	// unhealthy.
	For      time.Duration `json:"for"`
	Patience time.Duration `json:"patience"`
	Rollout  RolloutRef    `json:"rollout"`
}

// Soak returns when all objects of a target have been healthy for as long as asked
// without a break, or do not recover. An attempt goes on counting from where the one
// before was last heard of.
func (r *Region) Soak(ctx context.Context, in SoakInput) (WaitResult, error) {
	defer r.observe(in.Target.Region, "soak")()
	result, err := r.soak(ctx, in)
	if lost := unreachable(err); lost != "" {
		r.count(in.Target.Region, "soak", err)
		return WaitResult{Unreachable: lost}, nil
	}
	return result, r.failed(ctx, in.Target.Region, "soak", err)
}

func (r *Region) soak(ctx context.Context, in SoakInput) (WaitResult, error) {
	progress := &soakProgress{ctx: ctx, said: "begins to watch"}
	if activity.HasHeartbeatDetails(ctx) {
		// What cannot be decoded is as good as nothing: the soak begins anew.
		_ = activity.GetHeartbeatDetails(ctx, &progress.said, &progress.since)
	}
	defer progress.beat()()
	region, err := r.Kube(in.Target.Region)
	if err != nil {
		return WaitResult{}, err
	}
	var plan kube.Plan
	if err := r.get(ctx, in.Plan, &plan); err != nil {
		return WaitResult{}, err
	}
	outcome, err := region.Soak(kube.WithCaller(ctx, in.Rollout.caller(ctx)), kube.SoakInput{
		Plan: plan, For: in.For, Since: progress.since, Patience: in.Patience, Progress: progress.note,
	})
	if err != nil {
		return WaitResult{}, err
	}
	return WaitResult{Health: outcome.Health, Issues: capped(outcome.Issues)}, nil
}

// soakProgress is what a soak's heartbeats say: words for people, and since when all is
// healthy, for the next attempt.
type soakProgress struct {
	ctx   context.Context //nolint:containedctx // the activity's own, as heartbeats need it
	mu    sync.Mutex
	said  string
	since time.Time
}

func (p *soakProgress) note(message string, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said, p.since = message, since
}

func (p *soakProgress) beat() (stop func()) {
	return beatDoing(p.ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		activity.RecordHeartbeat(p.ctx, p.said, p.since)
	})
}
