package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// Delivery is the actor that decides what goes where: it takes one event after
// the other, asks the pure rules of internal/promotion what follows, and carries
// that out. It lives as long as the catalog declares it, in runs that continue
// each other.
func Delivery(ctx workflow.Context, in DeliveryInput) error {
	d, err := resume(ctx, in)
	if err != nil {
		return err
	}
	if err := d.listen(ctx); err != nil {
		return err
	}
	d.pickUp(ctx, in)
	for d.nextEvent(ctx) {
		d.handle(ctx)
	}
	if d.retired || d.isOver() {
		return nil
	}
	return workflow.NewContinueAsNewError(ctx, Delivery, d.handOver(ctx))
}

// delivery is the state of one run.
type delivery struct {
	key     string
	state   promotion.State
	inbox   []entry
	handled int  // events of this run
	busy    int  // renders and starts that a new run could not take over
	retired bool // the catalog no longer declares it; of before state.Retired
	resumed bool // from a run before, not from a checkpoint
	probing map[string]bool
	saving  bool // a checkpoint is being written
	unsaved bool // something has changed since
}

// entry is an event, and who waits for it to be handled.
type entry struct {
	event promotion.Event
	done  func(commands []promotion.Command)
}

// eventsPerRun bounds a run's history well below Temporal's limits.
const eventsPerRun = 300

// resume takes over from the run before, or from the checkpoint when there was
// none: a Delivery whose workflow was lost remembers what it delivered.
func resume(ctx workflow.Context, in DeliveryInput) (*delivery, error) {
	d := &delivery{key: in.Key, probing: map[string]bool{}}
	for _, e := range in.Inbox {
		d.inbox = append(d.inbox, entry{event: e})
	}
	if in.State != nil {
		d.state, d.resumed = *in.State, true
		return d, nil
	}
	saved, err := loadCheckpoint(ctx, in.Key)
	if err != nil {
		return nil, err
	}
	d.state = promotion.New(gitops.Delivery{})
	if saved.Found {
		d.state = saved.State
	}
	return d, nil
}

// pickUp goes on with what the run before had under way.
func (d *delivery) pickUp(ctx workflow.Context, in DeliveryInput) {
	if in.Specification != nil {
		d.background(ctx, func(ctx workflow.Context) { d.respecify(ctx, *in.Specification) })
	}
	for _, r := range d.state.OpenRollouts() {
		d.watch(ctx, r.Stage, r.Number)
		if in.State == nil { // what it reported since the checkpoint is lost
			d.order(ctx, r.Stage, r.Number, SignalReport, nil)
		}
	}
	for _, c := range promotion.Resume(d.state) {
		d.carryOut(ctx, c)
	}
}

// nextEvent waits for something to happen. It is false when the run should end:
// the Delivery is retired, or has handled enough and a new run can take over.
func (d *delivery) nextEvent(ctx workflow.Context) bool {
	enough := func() bool {
		return d.busy == 0 && !d.saving && workflow.AllHandlersFinished(ctx) &&
			(d.handled >= eventsPerRun || workflow.GetInfo(ctx).GetContinueAsNewSuggested())
	}
	over := func() bool {
		return (d.retired || d.isOver()) && d.busy == 0 && !d.saving && len(d.state.OpenRollouts()) == 0
	}
	_ = workflow.Await(ctx, func() bool {
		return len(d.inbox) > 0 || over() || enough()
	})
	return len(d.inbox) > 0 && !enough() && !over()
}

// isOver says whether a retired Delivery has nothing left to do. One that was lost has
// been started again by a message, which comes first.
func (d *delivery) isOver() bool {
	return (d.handled > 0 || d.resumed) && d.state.Retired && len(d.inbox) == 0 && len(d.state.Leaving) == 0
}

// handle decides about one event and carries out what follows.
func (d *delivery) handle(ctx workflow.Context) {
	next := d.inbox[0]
	d.inbox = d.inbox[1:]
	d.handled++
	// Events overtake one another on their way; what is decided has the times of
	// the order in which it was decided.
	next.event.At = workflow.Now(ctx)
	state, commands := promotion.Decide(d.state, next.event)
	d.state = state
	for _, c := range commands {
		d.carryOut(ctx, c)
	}
	if next.done != nil {
		next.done(commands)
	}
	d.show(ctx)
}

// handOver is what the next run starts from. Nothing that arrived is left out:
// signals of this very task may not have been received yet. It must not yield.
func (d *delivery) handOver(ctx workflow.Context) DeliveryInput {
	in := DeliveryInput{Key: d.key, State: &d.state}
	for {
		var e promotion.Event
		if !workflow.GetSignalChannel(ctx, SignalEvent).ReceiveAsync(&e) {
			break
		}
		d.post(e)
	}
	for {
		var s Specification
		if !workflow.GetSignalChannel(ctx, SignalSpecification).ReceiveAsync(&s) {
			break
		}
		in.Specification = &s
	}
	for _, e := range d.inbox {
		in.Inbox = append(in.Inbox, e.event)
	}
	return in
}
