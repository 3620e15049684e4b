package workflows

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// show tells the Temporal Web UI how things stand.
func (r *rollout) show(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, r.details(ctx))
	_ = workflow.UpsertTypedSearchAttributes(ctx, AttrPhase.ValueSet(string(r.status.Phase)))
}

// details is the rollout as Markdown: which gate waits for what, with the
// command to answer it, then a line for every target.
func (r *rollout) details(ctx workflow.Context) string {
	title := fmt.Sprintf("**%s** · release %d (%s) into %s", r.status.Phase, r.in.Release, gitops.ShortRevision(r.in.Revision), r.in.Stage)
	if r.in.Rollback {
		title = fmt.Sprintf("**%s** · %s goes back to release %d (%s)", r.status.Phase, r.in.Stage, r.in.Release, gitops.ShortRevision(r.in.Revision))
	}
	if r.in.Delete {
		title = fmt.Sprintf("**%s** · deletion of %d targets", r.status.Phase, len(r.in.Targets))
	}
	if r.status.Message != "" {
		title += " · " + r.status.Message
	}
	lines := []string{title, ""}
	for _, g := range r.status.Gates {
		lines = append(lines, "Gate **"+g.Name+"** "+g.standing(), "")
		if g.State == GateStateWaiting && g.IsAnswered() {
			lines = append(lines, "```", r.approveCommand(ctx, g), "```", "")
		}
	}
	lines = append(lines, "| region | target | phase | step | changes | |", "|---|---|---|---|---|---|")
	for _, t := range r.status.Targets {
		lines = append(lines, fmt.Sprintf("| %s | %s | %s | %d/%d %s | %d apply, %d prune | %s |",
			t.Region, t.Name, t.Phase, t.Step, t.Steps, t.Wave, t.Apply, t.Prune, strings.ReplaceAll(t.Message, "|", "\\|")))
	}
	lines = append(lines, unstableLines(r.status.Targets)...)
	for _, d := range r.status.Decisions {
		line := fmt.Sprintf("%s: %s said %s at gate %s", d.At.Format("15:04:05"), d.By, d.Verb, d.Gate)
		if !d.Accepted {
			line += ", which does not count: " + d.Refusal
		}
		lines = append(lines, "", line)
	}
	return strings.Join(lines, "\n")
}

// unstableLines name what makes every render another one, once for all targets.
func unstableLines(targets []TargetStatus) (lines []string) {
	var calls []string
	for _, t := range targets {
		for _, call := range t.Unstable {
			if !slices.Contains(calls, call) {
				calls = append(calls, call)
			}
		}
	}
	if len(calls) > 0 {
		lines = append(lines, "", "Another render would give other objects: "+strings.Join(calls, ", "))
	}
	return lines
}

// approveCommand is what opens a gate, ready to be copied.
func (r *rollout) approveCommand(ctx workflow.Context, g GateStatus) string {
	return fmt.Sprintf(`temporal workflow signal --workflow-id %s --name %s --input '{"gate":%q,"planDigest":%q,"by":"your name"}'`,
		workflow.GetInfo(ctx).WorkflowExecution.ID, SignalApprove, g.Name, r.status.PlanDigest)
}

// settled is called when one target has come to an end. The Delivery is told of
// a first failure at once: a newer release need not wait for the others.
func (r *rollout) settled(ctx workflow.Context) {
	if r.status.Phase != gitops.PhaseProgressing {
		return
	}
	if r.overspent() == "" {
		return
	}
	for _, t := range r.status.Targets {
		if t.Phase == gitops.TargetFailed {
			r.advance(ctx, gitops.PhaseDegraded, t.Name+": "+t.Message)
			return
		}
	}
}

// report tells the Delivery, and returns when that is certain. A Delivery that is
// lost is started again by it.
func (r *rollout) report(ctx workflow.Context) {
	r.send(ctx, r.event(ctx))
}

// reportSoon is report without waiting: nothing depends on when it arrives.
func (r *rollout) reportSoon(ctx workflow.Context) {
	event := r.event(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) { r.send(ctx, event) })
}

// event is the next report. Reports are numbered, so that one which is overtaken
// does no harm.
func (r *rollout) event(ctx workflow.Context) promotion.Event {
	r.reports++
	event := promotion.Event{
		Kind: promotion.RolloutReported, At: workflow.Now(ctx), Stage: r.in.Stage, Rollout: r.in.Number,
		Seq: r.reports, Phase: r.status.Phase, Message: r.status.Message, PlanDigest: r.status.PlanDigest,
	}
	event.Targets = r.outcomes()
	return event
}

// outcomes is where every target stands.
func (r *rollout) outcomes() []promotion.TargetOutcome {
	outcomes := make([]promotion.TargetOutcome, 0, len(r.targets))
	for _, t := range r.targets {
		outcomes = append(outcomes, promotion.TargetOutcome{Name: t.status.Name, Phase: t.status.Phase, Health: t.status.Health, Message: t.status.Message, Begun: t.begun, Kept: t.plan.Kept})
	}
	return outcomes
}

func (r *rollout) send(ctx workflow.Context, event promotion.Event) {
	id := DeliveryID(r.in.Delivery)
	future := workflow.SignalExternalWorkflow(ctx, id, "", SignalEvent, event)
	if err := future.Get(ctx, nil); err != nil {
		_ = deliverLetters(ctx, "tell the Delivery", letterToDelivery(r.in.Delivery, SignalEvent, event))
	}
}

// standing says in words where a gate stands.
func (g GateStatus) standing() string {
	if g.State == GateStateWaiting {
		return g.Message
	}
	return fmt.Sprintf("is %s, by %s%s", g.State, g.By, because(g.Message))
}
