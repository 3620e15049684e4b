package workflows

import (
	"fmt"
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
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** · release %d (%s) into %s", r.status.Phase, r.in.Release, short(r.in.Revision), r.in.Stage)
	if r.status.Message != "" {
		fmt.Fprintf(&b, " · %s", r.status.Message)
	}
	b.WriteString("\n\n")
	id := workflow.GetInfo(ctx).WorkflowExecution.ID
	for _, g := range r.status.Gates {
		fmt.Fprintf(&b, "Gate **%s**: %s %s\n\n", g.Name, g.State, g.Message)
		if g.State == GateStateWaiting {
			fmt.Fprintf(&b, "```\ntemporal workflow signal --workflow-id %s --name %s --input '{\"gate\":%q,\"planDigest\":%q,\"by\":\"your name\"}'\n```\n\n",
				id, SignalApprove, g.Name, r.status.PlanDigest)
		}
	}
	b.WriteString("| region | target | phase | step | changes | |\n|---|---|---|---|---|---|\n")
	for _, t := range r.status.Targets {
		fmt.Fprintf(&b, "| %s | %s | %s | %d/%d %s | %d apply, %d prune | %s |\n",
			t.Region, t.Name, t.Phase, t.Step, t.Steps, t.Wave, t.Apply, t.Prune, strings.ReplaceAll(t.Message, "|", "\\|"))
	}
	for _, d := range r.status.Decisions {
		if d.Accepted {
			fmt.Fprintf(&b, "\n%s: %s said %s at gate %s\n", d.At.Format("15:04:05"), d.By, d.Verb, d.Gate)
		} else {
			fmt.Fprintf(&b, "\n%s: %s by %s refused: %s\n", d.At.Format("15:04:05"), d.Verb, d.By, d.Refusal)
		}
	}
	return b.String()
}

func short(revision string) string {
	if len(revision) > 7 {
		return revision[:7]
	}
	return revision
}

// settled is called when one target has come to an end. The Delivery is told of
// a first failure at once: a newer release need not wait for the others.
func (r *rollout) settled(ctx workflow.Context) {
	if r.status.Phase != gitops.PhaseProgressing {
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
		outcomes = append(outcomes, promotion.TargetOutcome{Name: t.status.Name, Phase: t.status.Phase, Health: t.status.Health, Message: t.status.Message, Begun: t.begun})
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
