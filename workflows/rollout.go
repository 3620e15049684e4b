package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Rollout takes one release into one stage: it plans every region, waits at the
// gates, then walks each target's waves, all targets at once, and tells its
// Delivery how it went. Where there is no gate a target goes ahead as soon as its
// own plan is made.
func Rollout(ctx workflow.Context, in RolloutInput) (RolloutResult, error) {
	r := newRollout(ctx, in)
	ctx, err := r.listen(ctx)
	if err != nil {
		return RolloutResult{}, err
	}
	if r.isFree(ctx) {
		r.planAndDeliverTargets(ctx)
	} else {
		stop := r.watchGates(ctx)
		r.planTargets(ctx)
		for !r.ended() && !r.passGates(ctx) {
			r.planTargets(ctx)
		}
		stop()
		if !r.ended() {
			r.deliverTargets(ctx)
		}
	}
	r.conclude(ctx)
	return RolloutResult{Phase: r.status.Phase, Message: r.status.Message, Targets: r.outcomes()}, saveRecord(ctx, RolloutID(in.Delivery, in.Stage, in.Number), r.status)
}

// rollout is the state of one Rollout. Its coroutines are the targets' and the
// one that receives messages; Temporal runs one at a time.
type rollout struct {
	in      RolloutInput
	status  RolloutStatus
	targets []*target
	granted bool
	// delivering says that the gates have been passed.
	delivering bool
	// stop is why the rollout was asked to end; stopPhase is what it ends as.
	stop      string
	stopPhase gitops.Phase
	unsoaked  bool              // it was stopped while targets soaked
	aborted   bool              // hooks that are at work do not matter either
	approved  map[string]string // gate → plan digest it was approved with
	reports   int64             // how often the Delivery was told
}

func newRollout(ctx workflow.Context, in RolloutInput) *rollout {
	r := &rollout{in: in, granted: in.Granted, approved: map[string]string{}}
	r.status = RolloutStatus{
		Delivery: in.Delivery, Stage: in.Stage, Number: in.Number, Release: in.Release, Revision: in.Revision,
		CatchUp: in.CatchUp, Delete: in.Delete, Rollback: in.Rollback, Phase: gitops.PhasePlanning, Started: workflow.Now(ctx), Timings: map[string]float64{},
		Targets: make([]TargetStatus, len(in.Targets)),
	}
	for i, t := range in.Targets {
		r.status.Targets[i] = TargetStatus{Name: t.Target.Name, Region: t.Target.Region, Phase: gitops.TargetPending, Unstable: t.Bundle.Unstable}
		r.targets = append(r.targets, &target{TargetInput: t, rollout: r, status: &r.status.Targets[i]})
	}
	for _, g := range in.Gates {
		r.status.Gates = append(r.status.Gates, GateStatus{Gate: g, State: GateStateWaiting})
	}
	return r
}

// ended says whether there is nothing left to do but to report.
func (r *rollout) ended() bool { return r.stop != "" }

// end asks the rollout to stop at its next safe point. The first reason stands.
func (r *rollout) end(phase gitops.Phase, reason string) {
	r.aborted = r.aborted || phase == gitops.PhaseAborted
	if r.stop == "" {
		r.stop, r.stopPhase = reason, phase
	}
}

// mark notes when a part of the work was done.
func (r *rollout) mark(ctx workflow.Context, part string) {
	r.status.Timings[part] = workflow.Now(ctx).Sub(r.status.Started).Seconds()
}

// conclude turns what the targets met into the rollout's final phase, and tells
// the Delivery.
func (r *rollout) conclude(ctx workflow.Context) {
	for i := range r.status.Targets {
		if t := &r.status.Targets[i]; t.Phase == gitops.TargetPending || t.Phase == gitops.TargetPlanned {
			t.Phase = gitops.TargetStopped
		}
	}
	phase, message := r.outcome()
	now := workflow.Now(ctx)
	r.status.Finished = &now
	r.mark(ctx, "total")
	r.advance(ctx, phase, message)
}

// outcome is the rollout's final phase by what became of its targets. A failure
// outweighs a request to stop: the release is at fault whether or not a newer
// one is waiting.
func (r *rollout) outcome() (gitops.Phase, string) {
	count := map[gitops.TargetPhase]int{}
	for _, t := range r.status.Targets {
		count[t.Phase]++
	}
	switch total := len(r.status.Targets); {
	case r.stop != "" && r.stopPhase != gitops.PhaseSuperseded:
		return r.stopPhase, r.stop
	case r.unselected() != "":
		return gitops.PhaseFailed, r.unselected()
	case r.overspent() != "":
		return gitops.PhaseFailed, r.overspent() + r.notBegun(count)
	case r.stop != "" && (count[gitops.TargetStopped] > 0 || r.unsoaked):
		return r.stopPhase, r.stop
	case r.in.Delete:
		return gitops.PhaseDeleted, deletedMessage(count, total)
	case count[gitops.TargetUnreachable] > 0:
		return gitops.PhaseHealthy, fmt.Sprintf("%d of %d targets are healthy, %d could not be reached", count[gitops.TargetHealthy], total, count[gitops.TargetUnreachable])
	case count[gitops.TargetFailed] > 0:
		return gitops.PhaseHealthy, fmt.Sprintf("%d of %d targets are healthy, %d failed, within the failure budget", count[gitops.TargetHealthy], total, count[gitops.TargetFailed])
	default:
		return gitops.PhaseHealthy, fmt.Sprintf("%d targets are healthy", total)
	}
}

// notBegun says how many targets a release that has failed has left alone.
func (r *rollout) notBegun(count map[gitops.TargetPhase]int) string {
	if n := count[gitops.TargetStopped]; r.in.Strategy != nil && n > 0 {
		return fmt.Sprintf("; %d were left as they were", n)
	}
	return ""
}

// advance moves the rollout to a phase and has the Delivery told.
func (r *rollout) advance(ctx workflow.Context, phase gitops.Phase, message string) {
	r.status.Phase, r.status.Message = phase, message
	r.show(ctx)
	if phase.Final() {
		r.report(ctx)
		return
	}
	r.reportSoon(ctx)
}

// deadline is how long the objects of one wave may take to become healthy.
const deadline = 15 * time.Minute
