package kube

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

// ApplyInput is one step of a plan, and who carries it out.
type ApplyInput struct {
	Plan  Plan
	Step  int
	Claim Claim // its Step is set from Step
	MAC   manifest.MAC
	// Deadline is how long passing errors of objects are retried; the region's patience
	// when zero.
	Deadline time.Duration
	// Progress, if set, is told how far the step is, and what it retries; it is called
	// concurrently.
	Progress func(message string)
}

// Applied is what came of a step.
type Applied struct {
	// Records are of the objects that were applied; of a prune step, of those that
	// are being deleted and not gone yet.
	Records []diff.Record `json:"records"`
	Applied int           `json:"applied"`
	// Failures are the objects that the region refused, with its reason. The others
	// of the step were applied all the same.
	Failures []gitops.ObjectIssue `json:"failures,omitempty"`
}

// Apply carries out one step: it takes the target's claim, writes what the step
// writes, and records it in the inventory. It may be repeated. When the context
// ends no new write is started. It returns ErrFenced when somebody newer has taken
// the target over, and ErrUnreachable when the region has stopped answering.
func (r *Region) Apply(ctx context.Context, in ApplyInput) (Applied, error) {
	if in.Step < 0 || in.Step >= len(in.Plan.Steps) {
		return Applied{}, fmt.Errorf("apply %s: its plan has no step %d", in.Plan.Target, in.Step)
	}
	in.Claim.Step = in.Step
	step := in.Plan.Steps[in.Step]
	if !hasCaller(ctx) {
		ctx = WithCaller(ctx, in.Claim.String())
	}
	applied, err := r.applyStep(ctx, in, step)
	if err != nil {
		return applied, fmt.Errorf("apply %s wave %d of %s in region %s: %w", step.Phase, step.Wave, in.Plan.Target, r.settings.Name, err)
	}
	return applied, nil
}

func (r *Region) applyStep(ctx context.Context, in ApplyInput, step PlanStep) (Applied, error) {
	if step.Applies() == 0 {
		return Applied{}, nil
	}
	if err := r.tracker.learn(in.Plan.Health); err != nil {
		return Applied{}, err
	}
	f, err := r.newFence(ctx, in.Plan, in.Claim)
	if err != nil {
		return Applied{}, err
	}
	if err := f.take(ctx, in.Plan.Bundle, in.Plan.keys()); err != nil {
		return Applied{}, err
	}
	ignored, err := in.Plan.ignored(step)
	if err != nil {
		return Applied{}, err
	}
	work := &work{region: r, fence: f, in: in, total: step.Applies(), until: time.Now().Add(cmp.Or(in.Deadline, r.settings.Patience)), ignored: ignored, blocked: map[gitops.ObjectKey]bool{}}
	if err := work.clearHooks(ctx, step); err != nil {
		return Applied{}, err
	}
	for i, group := range step.Groups {
		if err := work.group(ctx, group); err != nil {
			return Applied{}, err
		}
		if err := work.settle(ctx, group, step.Groups[i+1:]); err != nil {
			return Applied{}, err
		}
	}
	return work.finish(ctx)
}

// ignored are the fields of a step's objects that are left to others.
func (p Plan) ignored(step PlanStep) (map[gitops.ObjectKey]diff.Ignored, error) {
	ignore, err := diff.NewIgnore(p.Ignore)
	if err != nil {
		return nil, err
	}
	ignored := map[gitops.ObjectKey]diff.Ignored{}
	for _, group := range step.Groups {
		for _, o := range group {
			if rules := ignore.Of(o.Key); len(rules) > 0 && o.Hook == nil {
				ignored[o.Key] = rules
			}
		}
	}
	return ignored, nil
}

// keys are records of all that the plan applies, for objects that have none yet.
func (p Plan) keys() []diff.Record {
	var keys []diff.Record
	for _, s := range p.Steps {
		for _, group := range s.Groups {
			for _, o := range group {
				if s.Phase != gitops.Prune && !o.Shared {
					rec := diff.Record{Key: o.Key, APIVersion: o.APIVersion, Wave: s.Wave}
					if o.Hook != nil {
						rec.Hook, rec.Run = o.Hook.ID, o.Hook.Run
					}
					keys = append(keys, rec)
				}
			}
		}
	}
	return keys
}
