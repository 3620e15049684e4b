package workflows

import (
	"fmt"
	"time"

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
	// declared says of a target to be deleted that somebody declares it after all.
	declared bool
	retry    int // how often the sync was tried again
}

// planTargets compares every region with its bundle, all at once. What cannot
// be reached is marked and left behind.
func (r *rollout) planTargets(ctx workflow.Context) {
	r.leaveDeclared(ctx)
	r.forEach(ctx, func(ctx workflow.Context, t *target) {
		if t.declared {
			return
		}
		if end := t.makePlan(ctx, true); end.isFinal() {
			t.settle(ctx, end)
		}
	})
	r.planned(ctx)
}

// planned is called once every target has been planned.
func (r *rollout) planned(ctx workflow.Context) {
	r.status.PlanDigest = r.planDigest()
	r.mark(ctx, "plan")
}

// isFree says whether nobody has to see the plans before they are carried out.
func (r *rollout) isFree(ctx workflow.Context) bool {
	return r.granted && len(r.in.Gates) == 0 && r.in.Strategy == nil && workflow.GetVersion(ctx, "plan-and-deliver", workflow.DefaultVersion, 1) == 1
}

// planAndDeliverTargets takes every target from its plan to its end on its own: a
// region that is slow to answer, or does not, holds up no other.
func (r *rollout) planAndDeliverTargets(ctx workflow.Context) {
	r.advance(ctx, gitops.PhaseProgressing, "")
	left := len(r.targets)
	r.forEach(ctx, func(ctx workflow.Context, t *target) {
		end := t.makePlan(ctx, false)
		if end.isFinal() {
			t.settle(ctx, end)
		}
		if left--; left == 0 {
			r.planned(ctx)
			r.openPruneGate(ctx)
		}
		if !end.isFinal() {
			t.deliver(ctx)
		}
	})
	r.mark(ctx, "healthy")
}

// makePlan compares the target's region with its bundle. shown says that a person
// looks at the plan before it is carried out.
func (t *target) makePlan(ctx workflow.Context, shown bool) ending {
	plan, err := planTarget(ctx, activities.PlanInput{
		Target: t.Target, Bundle: t.Bundle, Rollout: t.ref(), Siblings: t.siblings(), Preflight: t.Target.Preflight.Wanted(shown), Health: t.rollout.in.Health, Delete: t.rollout.in.Delete, Scope: t.rollout.scope(),
	})
	switch {
	case err != nil:
		return failed(err)
	case plan.Unreachable != "":
		return lost(plan.Unreachable)
	}
	t.plan = plan
	t.status.Phase, t.status.Step, t.status.Steps = gitops.TargetPlanned, 0, len(plan.Steps)
	t.status.Apply, t.status.Prune, t.status.Changes = plan.Apply, plan.Prune, plan.Sample
	t.status.Tried, t.status.ChangesDigest = plan.Tried, plan.Changes
	t.status.Message = ""
	return ending{}
}

// siblings are the other targets of the rollout in the same region: objects may move
// between them.
func (t *target) siblings() (siblings []activities.Sibling) {
	if t.rollout.in.Delete {
		return nil
	}
	for _, other := range t.rollout.in.Targets {
		if other.Target.Region == t.Target.Region && other.Target.Name != t.Target.Name {
			siblings = append(siblings, activities.Sibling{Target: other.Target, Bundle: other.Bundle})
		}
	}
	return siblings
}

// deliver walks one target's steps, again as often as its policy says while that
// fails, and what follows when it has failed for good.
func (t *target) deliver(ctx workflow.Context) {
	end := t.attempt(ctx)
	for end.phase == gitops.TargetFailed && t.pauseBeforeRetry(ctx, end) {
		if end = t.planAgain(ctx); !end.isFinal() {
			end = t.attempt(ctx)
		}
	}
	t.settle(ctx, end)
}

// attempt walks the steps once and ends their hooks, whatever has become of them.
// Where nothing is tried again, the hooks of a failed sync run before that.
func (t *target) attempt(ctx workflow.Context) ending {
	end := t.walk(ctx, func(s gitops.Step) bool { return s.Phase != gitops.SyncFail })
	step, wave := t.status.Step, t.status.Wave
	if _, again := t.Target.SyncPolicy.Retry.Pause(t.retry); end.phase == gitops.TargetFailed && !again {
		end.follow(t.walk(ctx, func(s gitops.Step) bool { return s.Phase == gitops.SyncFail }))
	}
	t.status.Step, t.status.Wave = step, wave
	if t.plan.Hooks > 0 || t.rollout.in.Delete {
		end = t.endHooks(ctx, end)
	}
	return end
}

// pauseBeforeRetry waits as long as the policy says; false when there is no retry.
func (t *target) pauseBeforeRetry(ctx workflow.Context, end ending) bool {
	pause, again := t.Target.SyncPolicy.Retry.Pause(t.retry)
	if !again || t.rollout.ended() || t.rollout.in.Delete {
		return false
	}
	t.retry++
	t.status.Issues = end.issues
	t.status.Message = fmt.Sprintf("attempt %d has failed: %s; the next one is at %s", t.retry, end.message, workflow.Now(ctx).Add(pause).UTC().Format(time.TimeOnly))
	t.rollout.show(ctx)
	stopped, _ := workflow.AwaitWithTimeout(ctx, pause, t.rollout.ended)
	return !stopped
}

// planAgain makes the plan of a retry. Where somebody has approved the plan it must
// still be that one.
func (t *target) planAgain(ctx workflow.Context) ending {
	before := t.plan.Digest
	if end := t.makePlan(ctx, false); end.isFinal() {
		return end
	}
	if t.plan.Digest != before && len(t.rollout.in.Gates) > 0 {
		return ending{phase: gitops.TargetFailed, message: "it was not tried again: the plan is no longer the one that was approved"}
	}
	t.rollout.status.PlanDigest = t.rollout.planDigest()
	return ending{}
}

// ending is how a target's way ends.
type ending struct {
	phase   gitops.TargetPhase // empty where it goes on
	message string
	health  gitops.HealthStatus // where it is told
	issues  []gitops.ObjectIssue
}

func (e ending) isFinal() bool { return e.phase != "" }

// follow adds how the SyncFail hooks went to why they ran.
func (e *ending) follow(after ending) {
	if after.phase != gitops.TargetHealthy {
		e.message += "; the SyncFail hooks did not end well either: " + after.message
		e.issues = append(e.issues, after.issues...)
	}
}

// walk walks the steps that match: apply, wait until healthy, next. Before each it
// looks whether it should stop: nothing is being written then.
func (t *target) walk(ctx workflow.Context, match func(gitops.Step) bool) ending {
	for i, step := range t.plan.Steps {
		if !match(step) {
			continue
		}
		t.status.Step, t.status.Wave = i, fmt.Sprintf("%s wave %d", step.Phase, step.Wave)
		if step.Phase == gitops.Prune {
			if end := t.passPruneGate(ctx); end.isFinal() {
				return end
			}
		}
		if t.rollout.ended() && step.Phase != gitops.SyncFail {
			return ending{phase: gitops.TargetStopped, message: "stopped before " + t.status.Wave}
		}
		if end := t.walkStep(ctx, i, step); end.isFinal() {
			return end
		}
	}
	if t.rollout.in.Delete {
		return t.deleted()
	}
	end := ending{phase: gitops.TargetHealthy, health: gitops.Healthy}
	if t.plan.Kept > 0 {
		end.message = fmt.Sprintf("%d objects that are no longer declared stay: pruning is not allowed", t.plan.Kept)
	}
	return end
}

// walkStep applies one step and waits for it.
func (t *target) walkStep(ctx workflow.Context, i int, step gitops.Step) ending {
	records := ""
	if step.Apply > 0 {
		t.move(gitops.TargetApplying)
		t.begun = true
		result, err := t.apply(ctx, i, step)
		if err != nil && t.rollout.ended() {
			return ending{phase: gitops.TargetStopped, message: "left while " + t.status.Wave + " was being retried"}
		}
		if err != nil {
			return failed(err)
		}
		if result.Unreachable != "" {
			return lost(result.Unreachable)
		}
		if len(result.Failures) > 0 {
			return rejected("", result.Failures)
		}
		records = result.Records
	}
	if step.Wait == 0 {
		return ending{}
	}
	t.move(gitops.TargetWaiting)
	return t.await(ctx, step, activities.WaitInput{Target: t.Target, Plan: t.plan.Artifact, Step: i, Records: records, Deadline: waitLimit(step), Rollout: t.ref()})
}

// apply writes one step. When the rollout is to end it is given time to end by
// itself: a write is no safe point. One that only retries what the region does not
// take is cut off then, so that it does not block the release that mends it.
func (t *target) apply(ctx workflow.Context, i int, step gitops.Step) (activities.StepResult, error) {
	ctx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	workflow.Go(ctx, func(ctx workflow.Context) {
		if workflow.Await(ctx, t.rollout.ended) == nil && workflow.GetVersion(ctx, "apply-yields", workflow.DefaultVersion, 1) == 1 && workflow.Sleep(ctx, yieldAfter) == nil {
			cancel()
		}
	})
	return applyStep(ctx, activities.ApplyInput{Target: t.Target, Plan: t.plan.Artifact, Step: i, Rollout: t.ref(), Deadline: waitLimit(step)}, step)
}

// yieldAfter is how long a step may go on writing when its rollout is to end.
const yieldAfter = 20 * time.Second

// waitLimit is how long a step may take to be applied, and then to be healthy.
func waitLimit(step gitops.Step) time.Duration {
	return max(deadline, time.Duration(step.Deadline)*time.Second)
}

// await waits for a step's objects to be healthy. A request to stop ends the wait
// at once: waiting is a safe point, so that a release which never gets healthy
// does not block the one that mends it. Hooks that are at work are let to end,
// unless the rollout is aborted.
func (t *target) await(ctx workflow.Context, step gitops.Step, in activities.WaitInput) ending {
	end := t.awaitUntil(ctx, step, in, t.rollout.ended)
	if step.Hooks > 0 && end.phase == gitops.TargetStopped && !t.rollout.aborted {
		in.Yield = true
		end = t.awaitUntil(ctx, step, in, func() bool { return t.rollout.aborted })
	}
	return end
}

func (t *target) awaitUntil(ctx workflow.Context, step gitops.Step, in activities.WaitInput, stop func() bool) ending {
	ctx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	workflow.Go(ctx, func(ctx workflow.Context) {
		if workflow.Await(ctx, stop) == nil {
			cancel()
		}
	})
	result, err := waitStep(ctx, in, step)
	switch {
	case err != nil && stop(), in.Yield && result.Health == gitops.Progressing:
		return ending{phase: gitops.TargetStopped, message: "left while " + t.status.Wave + " was not healthy"}
	case err != nil:
		return failed(err)
	case result.Unreachable != "":
		return lost(result.Unreachable)
	case result.Health != gitops.Healthy:
		return rejected(result.Health, result.Issues)
	}
	return ending{}
}

// endHooks ends the hooks of the plan. That this fails does not hide how the target
// ended.
func (t *target) endHooks(ctx workflow.Context, end ending) ending {
	delivered := end.phase == gitops.TargetHealthy || end.phase == gitops.TargetDeleted
	gone, err := finishTarget(ctx, activities.FinishInput{Target: t.Target, Plan: t.plan.Artifact, Rollout: t.ref(), Delivered: delivered})
	switch {
	case gone != "" && delivered:
		return lost(gone)
	case err != nil && delivered:
		return failed(err)
	case err != nil:
		end.message += "; its hooks could not be ended: " + explain(err)
	}
	return end
}

func (t *target) ref() activities.RolloutRef {
	in := t.rollout.in
	return activities.RolloutRef{Delivery: in.Delivery, Stage: in.Stage, Number: in.Number, Retry: t.retry}
}

func (t *target) move(phase gitops.TargetPhase) {
	t.status.Phase = phase
}

// settle is where a target's way ends.
func (t *target) settle(ctx workflow.Context, end ending) {
	t.status.Phase, t.status.Message, t.status.Issues = end.phase, end.message, end.issues
	if end.health != "" {
		t.status.Health = end.health
	}
	if end.phase == gitops.TargetHealthy || end.phase == gitops.TargetDeleted {
		t.status.Step, t.status.Wave = len(t.plan.Steps), ""
	}
	t.rollout.settled(ctx)
}

func failed(err error) ending { return ending{phase: gitops.TargetFailed, message: explain(err)} }

func lost(reason string) ending { return ending{phase: gitops.TargetUnreachable, message: reason} }

// rejected is an end by objects that the region refuses, or that do not get healthy.
func rejected(health gitops.HealthStatus, issues []gitops.ObjectIssue) ending {
	message := "not healthy"
	if len(issues) > 0 {
		message = issues[0].Object + ": " + issues[0].Message
		if more := len(issues) - 1; more > 0 {
			message += fmt.Sprintf(" (and %d more)", more)
		}
	}
	return ending{phase: gitops.TargetFailed, message: message, health: health, issues: issues}
}

// forEach runs one coroutine per target and waits for all of them: an error of
// one never leaves another half done.
func (r *rollout) forEach(ctx workflow.Context, do func(workflow.Context, *target)) {
	forEachOf(ctx, r.targets, do)
}

func forEachOf(ctx workflow.Context, targets []*target, do func(workflow.Context, *target)) {
	group := workflow.NewWaitGroup(ctx)
	for _, t := range targets {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			do(ctx, t)
		})
	}
	group.Wait(ctx)
}
