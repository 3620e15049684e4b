package activities

import (
	"context"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/kube"
)

// FinishInput is a plan with hooks that has come to its end.
type FinishInput struct {
	Target  gitops.Target `json:"target"`
	Plan    string        `json:"plan"` // digest of the artifact
	Rollout RolloutRef    `json:"rollout"`
	// Delivered says that all of the plan was carried out: its hooks do not run again
	// for this bundle.
	Delivered bool `json:"delivered,omitempty"`
}

// FinishResult is what came of it.
type FinishResult struct {
	Unreachable string `json:"unreachable,omitempty"`
}

// Finish ends the hooks of a plan, whatever became of it: it lets go of their
// objects, and deletes those whose policies say so, or that have not ended. It may
// be repeated.
func (r *Region) Finish(ctx context.Context, in FinishInput) (FinishResult, error) {
	defer beat(ctx)()
	defer r.observe(in.Target.Region, "finish")()
	err := r.finish(ctx, in)
	if lost := unreachable(err); lost != "" {
		r.count(in.Target.Region, "finish", err)
		return FinishResult{Unreachable: lost}, nil
	}
	return FinishResult{}, r.failed(ctx, in.Target.Region, "finish", err)
}

func (r *Region) finish(ctx context.Context, in FinishInput) error {
	region, err := r.Kube(in.Target.Region)
	if err != nil {
		return err
	}
	var plan kube.Plan
	if err := r.get(ctx, in.Plan, &plan); err != nil {
		return err
	}
	return region.Finish(kube.WithCaller(ctx, in.Rollout.caller(ctx)), kube.FinishInput{
		Plan: plan, Delivered: in.Delivered,
		Claim: in.Rollout.claim(ctx),
	})
}
