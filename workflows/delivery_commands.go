package workflows

import (
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// carryOut does what the rules have decided. Nothing here decides anything, and
// nothing blocks: what takes time runs in a coroutine that posts an event when
// it is done.
func (d *delivery) carryOut(ctx workflow.Context, c promotion.Command) {
	switch c.Kind {
	case promotion.Render:
		d.background(ctx, func(ctx workflow.Context) { d.render(ctx, c) })
	case promotion.StartRollout:
		d.start(ctx, c)
	case promotion.Grant:
		d.order(ctx, c.Stage, c.Rollout, SignalGrant, Grant{})
	case promotion.Supersede:
		d.order(ctx, c.Stage, c.Rollout, SignalSupersede, Stop{Reason: c.Reason})
	case promotion.CloseRollout:
		d.order(ctx, c.Stage, c.Rollout, SignalClose, Stop{Reason: c.Reason})
	case promotion.Approve:
		d.order(ctx, c.Stage, c.Rollout, SignalApprove, Decision{Gate: c.Gate, PlanDigest: c.PlanDigest, By: c.By, Reason: "sync"})
	case promotion.Probe:
		d.probe(ctx, c.Region)
	case promotion.Checkpoint:
		d.save(ctx)
	default:
		workflow.GetLogger(ctx).Error("a command that nobody knows", "kind", string(c.Kind))
	}
}

// background runs what a new run could not take over.
func (d *delivery) background(ctx workflow.Context, do func(workflow.Context)) {
	d.busy++
	workflow.Go(ctx, func(ctx workflow.Context) {
		do(ctx)
		d.busy--
	})
}

// render makes the bundles of every target at the heads that the command names.
func (d *delivery) render(ctx workflow.Context, c promotion.Command) {
	spec := d.state.Spec
	failed := func(err error) {
		d.post(promotion.Event{Kind: promotion.RenderFailed, At: workflow.Now(ctx), Render: c.Render, Message: explain(err)})
	}
	checkouts, err := checkOut(ctx, activities.CheckOutInput{Sources: withURLs(spec, c.Sources)})
	if err != nil {
		failed(err)
		return
	}
	rendered, reads, err := renderWithNeeds(ctx, activities.RenderInput{Checkouts: checkouts.Checkouts, Targets: spec.Targets})
	if err != nil {
		failed(err)
	} else {
		d.post(promotion.Event{Kind: promotion.Rendered, At: workflow.Now(ctx), Render: c.Render, Sources: c.Sources, Bundles: rendered.Bundles})
	}
	// What a render that failed looked for counts too: a push may bring it.
	if err := noteReads(ctx, activities.NoteReadsInput{Delivery: d.key, Reads: reads}); err != nil {
		workflow.GetLogger(ctx).Warn("what was read is not noted: the next push renders again", "error", err)
	}
}

// maxNeedRounds bounds how deep what manifests refer to may refer to more.
const maxNeedRounds = 10

// renderWithNeeds renders, and fetches what the renders ask for until they ask for
// nothing more.
func renderWithNeeds(ctx workflow.Context, in activities.RenderInput) (result activities.RenderResult, reads []activities.SourceReads, err error) {
	for range maxNeedRounds {
		result, reads, err = renderTargets(ctx, in)
		if err != nil || len(result.Needs) == 0 {
			return result, reads, err
		}
		fetched, err := provideNeeds(ctx, activities.ProvideInput{Needs: result.Needs})
		if err != nil {
			return result, reads, err
		}
		in.Provided = append(in.Provided, fetched.Provided...)
	}
	return result, reads, fmt.Errorf("the manifests refer to %s, which is more than %d references deep; is there a circle?", result.Needs[0].Need, maxNeedRounds)
}

// withURLs adds where each source is dialled.
func withURLs(spec gitops.Delivery, sources []gitops.ResolvedSource) []activities.SourceAt {
	known := map[string]gitops.Source{}
	for _, t := range spec.Targets {
		for _, s := range t.Sources() {
			known[s.Repository] = s
		}
	}
	result := make([]activities.SourceAt, 0, len(sources))
	for _, s := range sources {
		at := known[s.Repository]
		result = append(result, activities.SourceAt{RepoURL: at.RepoURL, Chart: at.Chart, Ref: s.Ref, Commit: s.Commit})
	}
	return result
}

// start starts a Rollout, and watches it: it may be terminated from outside.
func (d *delivery) start(ctx workflow.Context, c promotion.Command) {
	in := d.rolloutInput(c)
	id := RolloutID(d.key, c.Stage, c.Rollout)
	child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: id, TaskQueue: TaskQueue, WorkflowTaskTimeout: TaskTimeout,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		StaticSummary:         summaryOf(in),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			AttrDelivery.ValueSet(d.key), AttrStage.ValueSet(c.Stage), AttrRelease.ValueSet(int64(in.Release)), AttrRevision.ValueSet(in.Revision),
		),
	})
	future := workflow.ExecuteChildWorkflow(child, Rollout, in)
	d.background(ctx, func(ctx workflow.Context) {
		if err := future.GetChildWorkflowExecution().Get(ctx, nil); err != nil {
			workflow.GetLogger(ctx).Error("the rollout does not start", "rollout", id, "error", err)
		}
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		var result RolloutResult
		_ = future.Get(ctx, &result) // without a result it was ended from outside
		d.gone(ctx, c.Stage, c.Rollout, result)
	})
}

// summaryOf is what Temporal's lists say of a rollout.
func summaryOf(in RolloutInput) string {
	switch {
	case in.Delete:
		return fmt.Sprintf("deletion of %d targets", len(in.Targets))
	case in.Rollback:
		return fmt.Sprintf("%s goes back to release %d (%s)", in.Stage, in.Release, gitops.ShortRevision(in.Revision))
	}
	return fmt.Sprintf("release %d (%s) into %s", in.Release, gitops.ShortRevision(in.Revision), in.Stage)
}

func (d *delivery) rolloutInput(c promotion.Command) RolloutInput {
	release, _ := d.state.Release(c.Release)
	in := RolloutInput{
		Delivery: d.key, Stage: c.Stage, Number: c.Rollout, Release: c.Release, Revision: release.Revision(),
		Gates: c.Gates, Granted: c.Granted, CatchUp: c.CatchUp, Health: d.state.Spec.Health, Scope: c.Scope,
	}
	if in.Delete = c.Delete; in.Delete {
		in.Targets = d.leavingTargets(c.Targets)
		return in
	}
	if in.Rollback = c.Back; !c.CatchUp && !c.Back {
		in.Strategy = strategyOf(d.state.Spec, c.Stage)
	}
	for _, name := range c.Targets {
		t, declared := d.state.Spec.Target(name)
		bundle, rendered := release.Bundle(name)
		if declared && rendered {
			in.Targets = append(in.Targets, TargetInput{Target: t, Bundle: bundle})
		}
	}
	return in
}

// strategyOf is how releases go through a stage; nil for all targets at once.
func strategyOf(spec gitops.Delivery, stage string) *gitops.Strategy {
	for _, st := range spec.Stages {
		if st.Name == stage {
			return st.Strategy
		}
	}
	return nil
}

// watch waits for a rollout that an earlier run started.
func (d *delivery) watch(ctx workflow.Context, stage string, number int) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		if result, err := awaitClose(ctx, RolloutID(d.key, stage, number)); err == nil {
			d.gone(ctx, stage, number, result)
		}
	})
}

// gone tells the rules that a rollout's workflow has closed, and with what
// result: its last report may have been lost.
func (d *delivery) gone(ctx workflow.Context, stage string, number int, result RolloutResult) {
	d.post(promotion.Event{
		Kind: promotion.RolloutGone, At: workflow.Now(ctx), Stage: stage, Rollout: number,
		Phase: result.Phase, Message: result.Message, Targets: result.Targets,
	})
}

// order signals one of this Delivery's rollouts. A rollout that is gone needs no
// order; its end is an event of its own.
func (d *delivery) order(ctx workflow.Context, stage string, number int, signal string, payload any) {
	d.background(ctx, func(ctx workflow.Context) {
		id := RolloutID(d.key, stage, number)
		if err := workflow.SignalExternalWorkflow(ctx, id, "", signal, payload).Get(ctx, nil); err != nil {
			workflow.GetLogger(ctx).Info("the rollout takes no order", "rollout", id, "signal", signal, "error", err)
		}
	})
}

// probe asks an unreachable region until it answers.
func (d *delivery) probe(ctx workflow.Context, region string) {
	if d.probing[region] {
		return
	}
	d.probing[region] = true
	workflow.Go(ctx, func(ctx workflow.Context) {
		err := probeRegion(ctx, region)
		d.probing[region] = false
		if err == nil {
			d.post(promotion.Event{Kind: promotion.RegionRecovered, At: workflow.Now(ctx), Region: region})
		}
	})
}

// save writes a checkpoint. While one is being written the next one waits, and
// takes in everything that has changed meanwhile.
func (d *delivery) save(ctx workflow.Context) {
	d.unsaved = true
	if d.saving {
		return
	}
	d.saving = true
	workflow.Go(ctx, func(ctx workflow.Context) {
		for d.unsaved {
			d.unsaved = false
			if err := saveCheckpoint(ctx, d.key, d.state); err != nil {
				workflow.GetLogger(ctx).Error("the checkpoint is not saved", "error", err)
			}
		}
		d.saving = false
	})
}
