package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// listen registers every way in which a Delivery can be spoken to.
func (d *delivery) listen(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, QueryStatus, func() (promotion.Status, error) { return d.state.Status(), nil }); err != nil {
		return err
	}
	if err := workflow.SetQueryHandler(ctx, QueryState, func() (promotion.State, error) { return d.state, nil }); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandler(ctx, UpdateSync, d.sync); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateRollback, d.rollback, workflow.UpdateHandlerOptions{Validator: d.refuseRollback}); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateAbandon, d.abandon, workflow.UpdateHandlerOptions{Validator: d.refuseAbandon}); err != nil {
		return err
	}
	events := workflow.GetSignalChannel(ctx, SignalEvent)
	specifications := workflow.GetSignalChannel(ctx, SignalSpecification)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var e promotion.Event
			events.Receive(ctx, &e)
			d.post(e)
		}
	})
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var s Specification
			specifications.Receive(ctx, &s)
			d.busy++
			d.respecify(ctx, s)
			d.busy--
		}
	})
	return nil
}

// post puts an event into the inbox.
func (d *delivery) post(e promotion.Event) { d.inbox = append(d.inbox, entry{event: e}) }

// respecify takes a new specification, and asks for the heads of refs that are
// not known yet.
func (d *delivery) respecify(ctx workflow.Context, s Specification) {
	if s.Retired {
		d.retire(ctx)
		return
	}
	spec, err := readSpecification(ctx, s.Digest)
	if err != nil {
		workflow.GetLogger(ctx).Error("the specification cannot be read", "digest", s.Digest, "error", err)
		return
	}
	d.retired = false
	d.post(promotion.Event{Kind: promotion.SpecChanged, At: workflow.Now(ctx), Spec: &spec})
	for _, ref := range spec.Refs() {
		if !d.knows(ref) {
			hint := Hint{From: "delivery", For: d.key}
			if err := deliverLetters(ctx, "ask where "+ref.String()+" is", letterToPush(ref, hint)); err != nil {
				workflow.GetLogger(ctx).Error("the head cannot be asked for", "ref", ref.String(), "error", err)
			}
		}
	}
}

// knows says whether the head of a ref was ever told.
func (d *delivery) knows(ref gitops.Ref) bool {
	return slices.ContainsFunc(d.state.Heads, func(h promotion.Head) bool { return h.Ref == ref && h.Commit != "" })
}

// retire ends what is open, and has the targets deleted whose objects go with them. A
// Delivery of before version 1 deletes nothing.
func (d *delivery) retire(ctx workflow.Context) {
	if workflow.GetVersion(ctx, "retire-deletes", workflow.DefaultVersion, 1) == 1 {
		d.post(promotion.Event{Kind: promotion.Retired, At: workflow.Now(ctx)})
		return
	}
	d.retired = true
	for _, r := range d.state.OpenRollouts() {
		d.order(ctx, r.Stage, r.Number, SignalClose, Stop{Reason: "the catalog no longer declares this Delivery"})
	}
}

// sync is the update that `tidegate sync` sends.
func (d *delivery) sync(ctx workflow.Context, in SyncRequest) (SyncResult, error) {
	commands, err := d.ask(ctx, promotion.Event{Kind: promotion.SyncRequested, By: in.By, Names: in.Targets, Scope: in.Scope})
	if err != nil {
		return SyncResult{}, err
	}
	return SyncResult{Message: outcomeOfSync(in, commands)}, nil
}

// ask tells the rules of an event, and returns what they have decided.
func (d *delivery) ask(ctx workflow.Context, e promotion.Event) (commands []promotion.Command, err error) {
	handled := false
	e.At = workflow.Now(ctx)
	d.inbox = append(d.inbox, entry{event: e, done: func(c []promotion.Command) { commands, handled = c, true }})
	err = workflow.Await(ctx, func() bool { return handled })
	return commands, err
}

// outcomeOfSync says what a sync has set going.
func outcomeOfSync(in SyncRequest, commands []promotion.Command) string {
	for _, c := range commands {
		switch c.Kind {
		case promotion.StartRollout:
			if c.Delete {
				return fmt.Sprintf("rollout %d has started, which deletes %d targets after an approval", c.Rollout, len(c.Targets))
			}
			return fmt.Sprintf("rollout %d of release %d into %s has started", c.Rollout, c.Release, c.Stage)
		case promotion.Approve:
			return fmt.Sprintf("gate %s of rollout %d in %s is opened", c.Gate, c.Rollout, c.Stage)
		}
	}
	if in.Scope != nil {
		return "nothing was started: in every stage meant a rollout is at work, or nothing was delivered yet"
	}
	return "nothing to do: every stage has the newest release that it may have"
}
