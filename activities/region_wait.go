package activities

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/kube"
)

// WaitInput is one step of a plan whose objects are waited for.
type WaitInput struct {
	Target   gitops.Target `json:"target"`
	Plan     string        `json:"plan"`              // digest of the artifact
	Records  string        `json:"records,omitempty"` // of the step's Apply; empty when it wrote nothing
	Step     int           `json:"step"`
	Deadline time.Duration `json:"deadline"`
	Rollout  RolloutRef    `json:"rollout"`
	// Yield says that nobody wants the outcome any more: the wait ends as soon as no
	// hook is at work.
	Yield bool `json:"yield,omitempty"`
}

// WaitResult is how a wait has ended: Healthy, or with the objects that are not.
type WaitResult struct {
	Health      gitops.HealthStatus  `json:"health,omitempty"`
	Issues      []gitops.ObjectIssue `json:"issues,omitempty"`
	Unreachable string               `json:"unreachable,omitempty"`
}

// Wait returns when all objects of a step are healthy, or gone; as soon as any is
// Degraded; or at the deadline. It waits on a watch that all waits of a region
// share, so that thousands at a time cost little.
func (r *Region) Wait(ctx context.Context, in WaitInput) (WaitResult, error) {
	defer r.observe(in.Target.Region, "wait")()
	result, err := r.wait(ctx, in)
	if lost := unreachable(err); lost != "" {
		r.count(in.Target.Region, "wait", err)
		return WaitResult{Unreachable: lost}, nil
	}
	return result, r.failed(ctx, in.Target.Region, "wait", err)
}

func (r *Region) wait(ctx context.Context, in WaitInput) (WaitResult, error) {
	said := &atomic.Value{}
	defer beatSaying(ctx, said)()
	region, err := r.Kube(in.Target.Region)
	if err != nil {
		return WaitResult{}, err
	}
	var plan kube.Plan
	if err := r.get(ctx, in.Plan, &plan); err != nil {
		return WaitResult{}, err
	}
	var records []diff.Record
	if in.Records != "" {
		if err := r.get(ctx, in.Records, &records); err != nil {
			return WaitResult{}, err
		}
	}
	outcome, err := region.Wait(kube.WithCaller(ctx, in.Rollout.caller(ctx)), kube.WaitInput{
		Plan: plan, Step: in.Step, Records: records, Deadline: in.Deadline, Yield: in.Yield,
		Progress: func(message string) { said.Store(message) },
	})
	if err != nil {
		return WaitResult{}, err
	}
	return WaitResult{Health: outcome.Health, Issues: capped(outcome.Issues)}, nil
}
