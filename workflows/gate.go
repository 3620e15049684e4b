package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/internal/gitops"
)

// The states of a gate.
const (
	GateStateWaiting  = "waiting"
	GateStateOpen     = "open"
	GateStateRejected = "rejected"
)

// pruneGate is the name of the gate that a plan above the deletion budget opens.
const pruneGate = "prune"

// passGates waits at the gates and for the stage's lock. It is true when the
// plans in hand may be carried out: every entry gate was approved with their
// digest, and the lock is held. It is false when the plans must be made anew,
// since time has passed, or when the rollout has ended.
func (r *rollout) passGates(ctx workflow.Context) bool {
	r.openPruneGate(ctx)
	if r.granted && r.stillApproved() {
		return true
	}
	if !r.stillApproved() {
		r.lapse(ctx)
		r.waitAtGates(ctx)
	}
	if !r.ended() {
		r.takeLock(ctx)
	}
	return false
}

// stillApproved says whether each entry gate was approved with the plan in hand.
func (r *rollout) stillApproved() bool {
	if r.in.Delete && !r.deletes() {
		return true // there is nothing to approve
	}
	for _, g := range r.in.Gates {
		if !g.IsAnswered() && r.gate(g.Name).State != GateStateOpen || g.IsAnswered() && r.approved[g.Name] != r.status.PlanDigest {
			return false
		}
	}
	return true
}

// lapse takes back approvals that were given to another plan, and the lock with
// them.
func (r *rollout) lapse(ctx workflow.Context) {
	r.granted = false
	now := workflow.Now(ctx)
	for i := range r.status.Gates {
		g := &r.status.Gates[i]
		was, given := r.approved[g.Name]
		if g.Kind == gitops.GatePrune || !g.IsAnswered() || was == r.status.PlanDigest {
			continue
		}
		if len(g.Approved) > 0 && !given {
			continue // there are some of this plan, not enough
		}
		g.State, g.Since, g.Message = GateStateWaiting, &now, "waits for an approval of plan "+r.status.PlanDigest
		if g.Kind == gitops.GateDelete {
			g.Message = r.deletion() + "; " + g.Message
		}
		if given {
			g.Message = fmt.Sprintf("the approval by %s was for plan %s; the plan is %s now, so it lapsed", g.By, was, r.status.PlanDigest)
			g.By, g.Approved = "", nil
			delete(r.approved, g.Name)
		}
	}
}

// waitAtGates shows what is waited for and returns when every gate is open, or
// the rollout has ended.
func (r *rollout) waitAtGates(ctx workflow.Context) {
	r.advance(ctx, gitops.PhaseWaiting, r.waitingFor())
	_ = workflow.Await(ctx, func() bool { return r.stillApproved() || r.ended() })
}

// takeLock asks the Delivery for the stage's lock.
func (r *rollout) takeLock(ctx workflow.Context) {
	if r.granted {
		return
	}
	r.mark(ctx, "approved")
	r.advance(ctx, gitops.PhaseApproved, "approved; waits for the stage to be free")
	_ = workflow.Await(ctx, func() bool { return r.granted || r.ended() })
}

// waitingFor names the gates that are closed.
func (r *rollout) waitingFor() string {
	message := ""
	for _, g := range r.status.Gates {
		if g.State != GateStateWaiting || g.Kind == gitops.GatePrune {
			continue
		}
		if message != "" {
			message += "; "
		}
		message += "gate " + g.Name + " " + g.Message
	}
	return message
}

// openPruneGate shows a gate when a plan deletes more than the budget allows.
// The gate can be answered from now on; it holds nothing but the prune step.
func (r *rollout) openPruneGate(ctx workflow.Context) {
	for _, t := range r.targets {
		if t.plan.PruneNeedsApproval == "" || t.status.Phase.Final() || r.gate(pruneGate) != nil {
			continue
		}
		now := workflow.Now(ctx)
		r.status.Gates = append(r.status.Gates, GateStatus{
			Gate: gitops.Gate{Name: pruneGate, Kind: gitops.GatePrune}, State: GateStateWaiting, Since: &now,
			Message: t.plan.PruneNeedsApproval,
		})
	}
}

// passPruneGate waits until a prune above the deletion budget is approved.
func (t *target) passPruneGate(ctx workflow.Context) ending {
	r := t.rollout
	if t.plan.PruneNeedsApproval == "" || r.pruneApproved(ctx) {
		return ending{}
	}
	t.move(gitops.TargetPruneGate)
	t.status.Message = t.plan.PruneNeedsApproval
	// What is approved is the plan of all targets: it may not be made yet.
	_ = workflow.Await(ctx, func() bool { return r.status.PlanDigest != "" && r.gate(pruneGate) != nil })
	r.show(ctx)
	gate := r.gate(pruneGate)
	_ = workflow.Await(ctx, func() bool { return gate.State != GateStateWaiting || r.ended() })
	switch gate.State {
	case GateStateOpen:
		t.status.Message = ""
		return ending{}
	case GateStateRejected:
		return ending{phase: gitops.TargetFailed, message: "the prune was rejected by " + gate.By}
	default:
		return ending{phase: gitops.TargetStopped, message: "stopped before the prune"}
	}
}

// pruneApproved says whether the plan in hand may prune. Before version 1 no plan
// at all counted as approved.
func (r *rollout) pruneApproved(ctx workflow.Context) bool {
	digest, given := r.approved[pruneGate]
	if workflow.GetVersion(ctx, "prune-gate-holds-without-a-plan", workflow.DefaultVersion, 1) == 1 && !given {
		return false
	}
	return digest == r.status.PlanDigest
}

func (r *rollout) gate(name string) *GateStatus {
	for i := range r.status.Gates {
		if r.status.Gates[i].Name == name {
			return &r.status.Gates[i]
		}
	}
	return nil
}

func (r *rollout) planDigest() string {
	plans := make([]gitops.PlanSummary, 0, len(r.targets))
	for _, t := range r.targets {
		plan := t.plan
		plan.Target = t.Target.Name
		if t.status.Phase == gitops.TargetUnreachable {
			plan.Unreachable = t.status.Message
		}
		plans = append(plans, plan)
	}
	return gitops.PlanDigest(plans)
}
