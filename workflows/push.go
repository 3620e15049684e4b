package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// Push finds out where a ref stands and tells the Deliveries that it concerns.
// Every hint starts it or joins the one that runs; one at a time runs per ref,
// so that the head it read last is the newest. What Git answers is the truth: a
// force-push back to an older commit is a move like any other.
func Push(ctx workflow.Context, in PushInput) (PushResult, error) {
	p := push{ref: in.Ref, hints: workflow.GetSignalChannel(ctx, SignalHint)}
	for p.collect() {
		seen, err := observeRef(ctx, activities.ObserveInput{Ref: p.ref, Hint: p.newest, Wanted: p.wanted})
		if err != nil {
			return p.result, err
		}
		if err := p.tell(ctx, seen); err != nil {
			return p.result, err
		}
		p.waitForHint(ctx, seen)
	}
	return p.result, nil
}

// push is the state of one Push.
type push struct {
	ref     gitops.Ref
	hints   workflow.ReceiveChannel
	newest  string   // the commit that the newest hint named
	wanted  []string // Deliveries that must be told in any case
	pending bool     // there is something to ask Git for
	delay   time.Duration
	waited  time.Duration
	result  PushResult
}

// hintPatience is how long a hinted commit that Git does not show yet is asked
// for: replicas of a Git server lag.
const hintPatience = 30 * time.Second

// collect takes every hint that has arrived. It is false when there is nothing
// to ask Git for.
func (p *push) collect() bool {
	for {
		var h Hint
		if !p.hints.ReceiveAsync(&h) {
			break
		}
		p.pending, p.waited, p.delay = true, 0, 0
		if h.Commit != "" {
			p.newest = h.Commit
		}
		if h.For != "" && !slices.Contains(p.wanted, h.For) {
			p.wanted = append(p.wanted, h.For)
		}
	}
	pending := p.pending
	p.pending = false
	return pending
}

// tell signals the Deliveries that read something which changed, and remembers
// it. Told twice, a Delivery ignores the second time.
func (p *push) tell(ctx workflow.Context, seen activities.ObserveResult) error {
	p.result = PushResult{Commit: seen.Commit, Deliveries: seen.Affected, Message: p.say(seen)}
	workflow.SetCurrentDetails(ctx, p.result.Message)
	event := promotion.Event{Kind: promotion.HeadMoved, At: workflow.Now(ctx), Ref: &p.ref, Commit: seen.Commit, Seq: seen.Sequence}
	if seen.Missing != "" {
		event.Kind, event.Message = promotion.HeadMissing, seen.Missing
	}
	letters := make([]activities.Letter, 0, len(seen.Affected))
	for _, key := range seen.Affected {
		letters = append(letters, letterToDelivery(key, SignalEvent, event))
	}
	if err := deliverLetters(ctx, fmt.Sprintf("tell %d Deliveries", len(letters)), letters...); err != nil {
		return err
	}
	p.wanted = nil
	if !seen.Moved && len(letters) == 0 {
		return nil
	}
	return noteHead(ctx, activities.NoteInput{
		Ref: p.ref, Commit: seen.Commit, Sequence: seen.Sequence, Deliveries: seen.Deliveries, Missing: seen.Missing != "",
	})
}

func (p *push) say(seen activities.ObserveResult) string {
	switch {
	case seen.Missing != "":
		return seen.Missing
	case len(seen.Affected) > 0:
		return fmt.Sprintf("%s is at %s; told %v", p.ref, gitops.ShortRevision(seen.Commit), seen.Affected)
	default:
		return fmt.Sprintf("%s is at %s; nothing that a Delivery reads has changed", p.ref, gitops.ShortRevision(seen.Commit))
	}
}

// waitForHint waits a little when Git does not show the hinted commit yet; a new
// hint ends the wait.
func (p *push) waitForHint(ctx workflow.Context, seen activities.ObserveResult) {
	if seen.HintShown || p.waited >= hintPatience {
		return
	}
	p.delay = min(max(2*p.delay, time.Second), hintPatience-p.waited)
	p.waited += p.delay
	waiting, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(waiting, p.delay, workflow.TimerOptions{Summary: "Git does not show " + gitops.ShortRevision(p.newest) + " yet"})
	workflow.NewSelector(ctx).
		AddFuture(timer, func(workflow.Future) { p.pending = true }).
		AddReceive(p.hints, func(workflow.ReceiveChannel, bool) {}).
		Select(ctx)
}
