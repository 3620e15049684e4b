package workflows

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// deliverTargets walks the plans of the targets, batch by batch: all of a batch at once,
// or as many as the strategy allows. The next batch begins when this one is healthy and
// has soaked, and the failure budget holds.
func (r *rollout) deliverTargets(ctx workflow.Context) {
	r.delivering = true
	r.advance(ctx, gitops.PhaseProgressing, "")
	defer r.expire(ctx)()
	batches := r.batches()
	for i, batch := range batches {
		r.enterBatch(ctx, i, len(batches))
		r.deliverBatch(ctx, batch)
		if r.ended() || r.halted() != "" || !r.soakBatch(ctx, batch) {
			break
		}
	}
	r.mark(ctx, "healthy")
}

// strategy is how the release goes through the targets.
func (r *rollout) strategy() (s gitops.Strategy) {
	if r.in.Strategy != nil {
		s = *r.in.Strategy
	}
	return s
}

// batches are the targets that were planned, in the order in which they have their turn.
func (r *rollout) batches() (batches [][]*target) {
	if r.in.Strategy == nil {
		return [][]*target{r.targets}
	}
	byName, names := map[string]*target{}, make([]string, 0, len(r.targets))
	for _, t := range r.targets {
		byName[t.Target.Name] = t
		names = append(names, t.Target.Name)
	}
	for _, batch := range promotion.Batches(r.strategy(), names) {
		var targets []*target
		for _, name := range batch {
			targets = append(targets, byName[name])
		}
		batches = append(batches, targets)
	}
	return batches
}

func (r *rollout) enterBatch(ctx workflow.Context, i, n int) {
	if n > 1 {
		r.status.Batch, r.status.Batches = i+1, n
		r.advance(ctx, r.status.Phase, r.batchName())
	}
}

// batchName says which batch has its turn; empty where there is one only.
func (r *rollout) batchName() string {
	if r.status.Batches == 0 {
		return ""
	}
	return fmt.Sprintf("batch %d of %d", r.status.Batch, r.status.Batches)
}

// deliverBatch walks the plans of some targets. When the failure budget is spent in
// between, those that have not begun do not begin.
func (r *rollout) deliverBatch(ctx workflow.Context, batch []*target) {
	places := len(batch)
	if n := r.strategy().MaxParallel; n > 0 {
		places = min(places, n)
	}
	free := workflow.NewSemaphore(ctx, int64(max(places, 1)))
	forEachOf(ctx, batch, func(ctx workflow.Context, t *target) {
		if t.status.Phase != gitops.TargetPlanned || free.Acquire(ctx, 1) != nil {
			return
		}
		defer free.Release(1)
		if r.in.Strategy == nil || !r.ended() && r.halted() == "" {
			t.deliver(ctx)
		}
	})
}

// halted says why no further target is begun; empty when that is not so.
func (r *rollout) halted() string {
	if r.in.Strategy == nil || r.in.Strategy.OnFailure == gitops.Continue {
		return ""
	}
	return r.overspent()
}

// overspent says why the release has failed in the stage; empty when it has not.
func (r *rollout) overspent() string {
	tally := promotion.Tally{Total: len(r.targets)}
	for _, t := range r.targets {
		switch t.status.Phase {
		case gitops.TargetFailed:
			tally.Failed++
		case gitops.TargetUnreachable:
			tally.Unreachable++
		}
	}
	return promotion.Overspent(r.strategy(), tally)
}

// soakBatch watches the targets of a batch for as long as the strategy says. It is false
// when the release goes no further: what does not recover has failed.
func (r *rollout) soakBatch(ctx workflow.Context, batch []*target) bool {
	soak := r.strategy().Soak
	if soak == 0 {
		return true
	}
	healthy := slices.DeleteFunc(slices.Clone(batch), func(t *target) bool { return t.status.Phase != gitops.TargetHealthy })
	for _, t := range healthy {
		t.move(gitops.TargetSoaking)
	}
	until := workflow.Now(ctx).Add(soak).UTC().Format(time.DateTime)
	r.advance(ctx, r.status.Phase, strings.TrimSpace(fmt.Sprintf("%s soaks for %s, until %s at the earliest", r.batchName(), soak, until)))
	forEachOf(ctx, healthy, func(ctx workflow.Context, t *target) { t.soak(ctx, soak) })
	return !r.ended() && r.halted() == ""
}

// soak watches a target that is healthy. A request to stop ends that at once.
func (t *target) soak(ctx workflow.Context, soak time.Duration) {
	ctx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	workflow.Go(ctx, func(ctx workflow.Context) {
		if workflow.Await(ctx, t.rollout.ended) == nil {
			cancel()
		}
	})
	result, err := soakTarget(ctx, activities.SoakInput{Target: t.Target, Plan: t.plan.Artifact, For: soak, Patience: deadline, Rollout: t.ref()})
	switch {
	case err != nil && t.rollout.ended():
		t.rollout.unsoaked = true
		t.settle(ctx, ending{phase: gitops.TargetHealthy, message: "left while it soaked", health: gitops.Healthy})
	case err != nil:
		t.settle(ctx, failed(err))
	case result.Unreachable != "":
		t.settle(ctx, lost(result.Unreachable))
	case result.Health != gitops.Healthy:
		t.settle(ctx, rejected(result.Health, result.Issues))
	default:
		t.settle(ctx, ending{phase: gitops.TargetHealthy, health: gitops.Healthy})
	}
}

// expire ends the rollout when the stage's deadline is over. The function that it
// returns ends the deadline.
func (r *rollout) expire(ctx workflow.Context) (stop func()) {
	limit := r.strategy().Deadline
	if limit == 0 {
		return func() {}
	}
	ctx, stop = workflow.WithCancel(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		if workflow.Sleep(ctx, limit) == nil {
			r.end(gitops.PhaseFailed, fmt.Sprintf("the stage's deadline of %s is over", limit))
		}
	})
	return stop
}
