package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/gitops"
)

// target is one target's way through a rollout.
type target struct {
	TargetInput
	rollout *rollout
	status  *TargetStatus
	plan    gitops.PlanSummary
	begun   bool // something may have been written
}

// planTargets compares every region with its bundle, all at once. What cannot
// be reached is marked and left behind.
func (r *rollout) planTargets(ctx workflow.Context) {
	r.forEach(ctx, func(ctx workflow.Context, t *target) { t.makePlan(ctx) })
	r.planned(ctx)
}

// planned is called once every target has been planned.
func (r *rollout) planned(ctx workflow.Context) {
	r.status.PlanDigest = r.planDigest()
	r.mark(ctx, "plan")
}

// isFree says whether nobody has to see the plans before they are carried out.
func (r *rollout) isFree(ctx workflow.Context) bool {
	return r.granted && len(r.in.Gates) == 0 && workflow.GetVersion(ctx, "plan-and-deliver", workflow.DefaultVersion, 1) == 1
}

// planAndDeliverTargets takes every target from its plan to its end on its own: a
// region that is slow to answer, or does not, holds up no other.
func (r *rollout) planAndDeliverTargets(ctx workflow.Context) {
	r.advance(ctx, gitops.PhaseProgressing, "")
	left := len(r.targets)
	r.forEach(ctx, func(ctx workflow.Context, t *target) {
		t.makePlan(ctx)
		if left--; left == 0 {
			r.planned(ctx)
			r.openPruneGate(ctx)
		}
		if t.status.Phase == gitops.TargetPlanned {
			t.deliver(ctx)
		}
	})
	r.mark(ctx, "healthy")
}

func (t *target) makePlan(ctx workflow.Context) {
	plan, err := planTarget(ctx, t.ref(), t.TargetInput)
	switch {
	case err != nil:
		t.fail(ctx, err)
		return
	case plan.Unreachable != "":
		t.lose(ctx, plan.Unreachable)
		return
	}
	t.plan = plan
	t.status.Phase, t.status.Step, t.status.Steps = gitops.TargetPlanned, 0, len(plan.Steps)
	t.status.Apply, t.status.Prune, t.status.Changes = plan.Apply, plan.Prune, plan.Sample
	t.status.Message = ""
}

// deliverTargets walks every target's plan, all targets at once.
func (r *rollout) deliverTargets(ctx workflow.Context) {
	r.advance(ctx, gitops.PhaseProgressing, "")
	r.forEach(ctx, func(ctx workflow.Context, t *target) {
		if t.status.Phase == gitops.TargetPlanned {
			t.deliver(ctx)
		}
	})
	r.mark(ctx, "healthy")
}

// deliver walks one target's steps: apply, wait until healthy, next. Before each
// step it looks whether it should stop: nothing is being written then.
func (t *target) deliver(ctx workflow.Context) {
	for i, step := range t.plan.Steps {
		t.status.Step, t.status.Wave = i, fmt.Sprintf("%s wave %d", step.Phase, step.Wave)
		if step.Phase == gitops.Prune && !t.passPruneGate(ctx) {
			return
		}
		if t.rollout.ended() {
			t.settle(ctx, gitops.TargetStopped, "stopped before "+t.status.Wave)
			return
		}
		if !t.walkStep(ctx, i, step) {
			return
		}
	}
	t.status.Step, t.status.Wave, t.status.Health = len(t.plan.Steps), "", gitops.Healthy
	message := ""
	if t.plan.Kept > 0 {
		message = fmt.Sprintf("%d objects that are no longer declared stay: pruning is not allowed", t.plan.Kept)
	}
	t.settle(ctx, gitops.TargetHealthy, message)
}

// walkStep applies one step and waits for it; it is false when the target goes
// no further.
func (t *target) walkStep(ctx workflow.Context, i int, step gitops.Step) bool {
	records := ""
	if step.Apply > 0 {
		t.move(gitops.TargetApplying)
		t.begun = true
		result, err := applyStep(ctx, activities.ApplyInput{Target: t.Target, Plan: t.plan.Artifact, Step: i, Rollout: t.ref()}, step)
		if err != nil {
			return t.fail(ctx, err)
		}
		if result.Unreachable != "" {
			return t.lose(ctx, result.Unreachable)
		}
		if len(result.Failures) > 0 {
			return t.reject(ctx, result.Failures)
		}
		records = result.Records
	}
	if step.Wait == 0 {
		return true
	}
	t.move(gitops.TargetWaiting)
	return t.await(ctx, i, step, records)
}

// await waits for a step's objects to be healthy. A request to stop ends the
// wait at once: waiting is a safe point, so that a release which never gets
// healthy does not block the one that mends it.
func (t *target) await(ctx workflow.Context, i int, step gitops.Step, records string) bool {
	ctx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	workflow.Go(ctx, func(ctx workflow.Context) {
		if workflow.Await(ctx, t.rollout.ended) == nil {
			cancel()
		}
	})
	result, err := waitStep(ctx, activities.WaitInput{Target: t.Target, Plan: t.plan.Artifact, Step: i, Records: records, Deadline: deadline, Rollout: t.ref()}, step)
	switch {
	case err != nil && t.rollout.ended():
		t.settle(ctx, gitops.TargetStopped, "left while "+t.status.Wave+" was not healthy")
		return false
	case err != nil:
		return t.fail(ctx, err)
	case result.Unreachable != "":
		return t.lose(ctx, result.Unreachable)
	case result.Health != gitops.Healthy:
		t.status.Health = result.Health
		return t.reject(ctx, result.Issues)
	}
	return true
}

func (t *target) ref() activities.RolloutRef {
	in := t.rollout.in
	return activities.RolloutRef{Delivery: in.Delivery, Stage: in.Stage, Number: in.Number}
}

func (t *target) move(phase gitops.TargetPhase) {
	t.status.Phase = phase
}

// settle is where a target's way ends.
func (t *target) settle(ctx workflow.Context, phase gitops.TargetPhase, message string) {
	t.status.Phase, t.status.Message = phase, message
	t.rollout.settled(ctx)
}

func (t *target) fail(ctx workflow.Context, err error) bool {
	t.settle(ctx, gitops.TargetFailed, explain(err))
	return false
}

func (t *target) lose(ctx workflow.Context, reason string) bool {
	t.settle(ctx, gitops.TargetUnreachable, reason)
	return false
}

func (t *target) reject(ctx workflow.Context, issues []gitops.ObjectIssue) bool {
	t.status.Issues = issues
	message := "not healthy"
	if len(issues) > 0 {
		message = issues[0].Object + ": " + issues[0].Message
		if more := len(issues) - 1; more > 0 {
			message += fmt.Sprintf(" (and %d more)", more)
		}
	}
	t.settle(ctx, gitops.TargetFailed, message)
	return false
}

// forEach runs one coroutine per target and waits for all of them: an error of
// one never leaves another half done.
func (r *rollout) forEach(ctx workflow.Context, do func(workflow.Context, *target)) {
	group := workflow.NewWaitGroup(ctx)
	for _, t := range r.targets {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			do(ctx, t)
		})
	}
	group.Wait(ctx)
}
