package activities

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/kube"
)

// ApplyInput is one step of a plan.
type ApplyInput struct {
	Target  gitops.Target `json:"target"`
	Plan    string        `json:"plan"` // digest of the artifact
	Step    int           `json:"step"`
	Rollout RolloutRef    `json:"rollout"`
	// Deadline is how long passing errors of objects are retried.
	Deadline time.Duration `json:"deadline,omitempty"`
}

// StepResult is what came of a step.
type StepResult struct {
	Applied int `json:"applied"`
	// Records is the artifact that Wait needs: which objects were applied, and as
	// which generation.
	Records string `json:"records,omitempty"`
	// Failures are the objects that the region refused. The others were applied.
	Failures    []gitops.ObjectIssue `json:"failures,omitempty"`
	Unreachable string               `json:"unreachable,omitempty"`
}

// Apply writes the objects of one step, or deletes them in a prune step. It may be
// repeated: what was applied before is found to be so. It starts no new write once
// its context has ended, as it does when its heartbeats are not acknowledged.
func (r *Region) Apply(ctx context.Context, in ApplyInput) (StepResult, error) {
	phase := "apply"
	defer r.observe(in.Target.Region, phase)()
	result, err := r.apply(ctx, in)
	if lost := unreachable(err); lost != "" {
		r.count(in.Target.Region, phase, err)
		return StepResult{Unreachable: lost}, nil
	}
	return result, r.failed(ctx, in.Target.Region, phase, err)
}

func (r *Region) apply(ctx context.Context, in ApplyInput) (result StepResult, err error) {
	said := &atomic.Value{}
	defer beatSaying(ctx, said)()
	region, err := r.Kube(in.Target.Region)
	if err != nil {
		return result, err
	}
	var plan kube.Plan
	if err := r.get(ctx, in.Plan, &plan); err != nil {
		return result, err
	}
	applied, err := region.Apply(kube.WithCaller(ctx, in.Rollout.caller(ctx)), kube.ApplyInput{
		Plan: plan, Step: in.Step, MAC: r.MAC,
		Claim:    in.Rollout.claim(ctx),
		Deadline: in.Deadline,
		Progress: func(message string) { said.Store(message) },
	})
	if err != nil {
		return result, err
	}
	result = StepResult{Applied: applied.Applied, Failures: capped(applied.Failures)}
	if len(applied.Records) > 0 {
		result.Records, err = r.put(ctx, "records", applied.Records)
	}
	return result, err
}
