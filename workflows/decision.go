package workflows

import (
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/internal/gitops"
)

// The two answers that a gate takes.
const (
	verbApprove = "approve"
	verbReject  = "reject"
)

// listen registers every way in which a Rollout can be spoken to. The context
// that it returns is not canceled when the workflow is: a cancellation from
// outside is a request to stop at the next safe point, like any other.
func (r *rollout) listen(ctx workflow.Context) (workflow.Context, error) {
	if err := workflow.SetQueryHandler(ctx, QueryStatus, func() (RolloutStatus, error) { return r.status, nil }); err != nil {
		return ctx, err
	}
	again := workflow.GetSignalChannel(ctx, SignalReport)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			again.Receive(ctx, nil)
			r.report(ctx)
		}
	})
	for _, verb := range []string{verbApprove, verbReject} {
		if err := r.acceptDecisions(ctx, verb); err != nil {
			return ctx, err
		}
	}
	if err := r.acceptAborts(ctx); err != nil {
		return ctx, err
	}
	work, _ := workflow.NewDisconnectedContext(ctx)
	workflow.Go(work, func(work workflow.Context) {
		ctx.Done().Receive(work, nil)
		r.end(gitops.PhaseAborted, "canceled from outside")
	})
	r.acceptStops(work)
	return work, nil
}

// acceptAborts takes the order of a person to end.
func (r *rollout) acceptAborts(ctx workflow.Context) error {
	handle := func(_ workflow.Context, a Abort) (DecisionResult, error) {
		r.end(gitops.PhaseAborted, "aborted by "+a.By+because(a.Reason))
		return DecisionResult{Message: fmt.Sprintf("rollout %d ends as soon as nothing is being written, within %s", r.in.Number, yieldAfter)}, nil
	}
	validate := func(a Abort) error {
		switch {
		case a.By == "":
			return errors.New("an abort needs a name: say who aborts in by")
		case r.status.Phase.Final():
			return fmt.Errorf("the rollout has ended (%s)", r.status.Phase)
		}
		return nil
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, UpdateAbort, handle, workflow.UpdateHandlerOptions{Validator: validate})
}

// acceptDecisions takes one kind of answer, by update and by signal.
func (r *rollout) acceptDecisions(ctx workflow.Context, verb string) error {
	handle := func(ctx workflow.Context, d Decision) (DecisionResult, error) {
		return DecisionResult{Message: r.decide(ctx, verb, d)}, nil
	}
	validate := func(d Decision) error { return r.refuse(verb, d) }
	if err := workflow.SetUpdateHandlerWithOptions(ctx, verb, handle, workflow.UpdateHandlerOptions{Validator: validate}); err != nil {
		return err
	}
	channel := workflow.GetSignalChannel(ctx, verb)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var d Decision
			channel.Receive(ctx, &d)
			if d.By == "" {
				d.By = "a signal"
			}
			if err := r.refuseSignal(verb, d); err != nil {
				r.status.Decisions = append(r.status.Decisions, DecisionRecord{Decision: d, Verb: verb, At: workflow.Now(ctx), Refusal: err.Error()})
				r.show(ctx)
				continue
			}
			r.decide(ctx, verb, d)
		}
	})
	return nil
}

// refuseSignal says why a decision that came by signal does not count; nil when it does.
// Nobody has checked whose name a signal has: several persons it can not be.
func (r *rollout) refuseSignal(verb string, d Decision) error {
	if g := r.gate(d.Gate); g != nil && g.Needed() > 1 {
		return fmt.Errorf("gate %s takes %d persons, and a signal does not show who has sent it: use tidegate approve", g.Name, g.Needed())
	}
	return r.refuse(verb, d)
}

// refuse says why a decision does not count; nil when it does. It must not
// change anything: an update's validator calls it.
func (r *rollout) refuse(verb string, d Decision) error {
	g := r.gate(d.Gate)
	switch {
	case d.By == "":
		return errors.New("a decision needs a name: say who decides in by")
	case d.Gate == "" || g == nil:
		return fmt.Errorf("rollout %d has no gate %q; its gates are: %s", r.in.Number, d.Gate, r.gateNames())
	case r.ended() || r.status.Phase.Final():
		return fmt.Errorf("rollout %d has ended (%s)", r.in.Number, r.status.Phase)
	case !g.IsAnswered():
		return fmt.Errorf("gate %s opens by itself: it %s", g.Name, g.Message)
	case g.State != GateStateWaiting:
		return fmt.Errorf("gate %s was answered before: it is %s (%s)", g.Name, g.State, g.By)
	case r.status.PlanDigest == "" || r.status.Phase == gitops.PhasePlanning:
		return errors.New("the plan is still being made: look at it first, then decide")
	case verb == verbApprove && slices.Contains(g.Approved, d.By):
		return fmt.Errorf("%s has approved it before; gate %s takes %d persons", d.By, g.Name, g.Needed())
	case d.PlanDigest != r.status.PlanDigest:
		return fmt.Errorf("the decision is for plan %q, but the plan is %s: look at it and decide again", d.PlanDigest, r.status.PlanDigest)
	}
	return nil
}

// decide records a decision that counts and acts on it.
func (r *rollout) decide(ctx workflow.Context, verb string, d Decision) string {
	r.status.Decisions = append(r.status.Decisions, DecisionRecord{Decision: d, Verb: verb, At: workflow.Now(ctx), Accepted: true})
	g := r.gate(d.Gate)
	if verb == verbReject {
		g.State, g.By, g.Message = GateStateRejected, d.By, d.Reason
		if g.Kind != gitops.GatePrune {
			r.end(gitops.PhaseRejected, fmt.Sprintf("gate %s was rejected by %s%s", g.Name, d.By, because(d.Reason)))
		}
		return fmt.Sprintf("gate %s of rollout %d is rejected", g.Name, r.in.Number)
	}
	return r.approve(ctx, g, d)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func (r *rollout) gateNames() string {
	names := ""
	for i, g := range r.status.Gates {
		if i > 0 {
			names += ", "
		}
		names += g.Name
	}
	if names == "" {
		return "none"
	}
	return names
}

// acceptStops takes the Delivery's orders.
func (r *rollout) acceptStops(ctx workflow.Context) {
	grant := workflow.GetSignalChannel(ctx, SignalGrant)
	supersede := workflow.GetSignalChannel(ctx, SignalSupersede)
	closing := workflow.GetSignalChannel(ctx, SignalClose)
	selector := workflow.NewSelector(ctx)
	selector.AddReceive(grant, func(c workflow.ReceiveChannel, _ bool) {
		c.Receive(ctx, nil)
		r.granted = true
	})
	stop := func(phase gitops.Phase) func(workflow.ReceiveChannel, bool) {
		return func(c workflow.ReceiveChannel, _ bool) {
			var s Stop
			c.Receive(ctx, &s)
			r.end(phase, s.Reason)
		}
	}
	selector.AddReceive(supersede, stop(gitops.PhaseSuperseded))
	selector.AddReceive(closing, stop(gitops.PhaseClosed))
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			selector.Select(ctx)
		}
	})
}
