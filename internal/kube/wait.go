package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

// WaitInput is one step of a plan whose objects are waited for.
type WaitInput struct {
	Plan     Plan
	Step     int
	Records  []diff.Record // from Apply; of a step that wrote nothing, none
	Deadline time.Duration
	// Yield ends the wait as soon as no hook is at work.
	Yield bool
	// Progress, if set, is told what the wait is about, now and then.
	Progress func(message string)
}

// Outcome is how a wait has ended: Healthy, or with all objects that are not.
type Outcome struct {
	Health gitops.HealthStatus
	Issues []gitops.ObjectIssue
}

// Wait returns when every object of a step is healthy at the generation that was
// applied (of a prune step: gone), as soon as any is Degraded, or at the deadline.
// It returns ErrUnreachable when the region has stopped answering.
func (r *Region) Wait(ctx context.Context, in WaitInput) (Outcome, error) {
	if in.Step < 0 || in.Step >= len(in.Plan.Steps) {
		return Outcome{}, fmt.Errorf("wait for %s: its plan has no step %d", in.Plan.Target, in.Step)
	}
	if err := r.tracker.learn(in.Plan.Health); err != nil {
		return Outcome{}, err
	}
	step := in.Plan.Steps[in.Step]
	w := waiting{deadline: in.Deadline, yield: in.Yield, progress: in.Progress}
	if step.Phase == gitops.Prune {
		w.gone = in.Records
	} else {
		w.healthy = awaited(step, in.Records)
		w.own = step.deadlines()
	}
	outcome, err := r.tracker.wait(ctx, w)
	if err != nil {
		return outcome, fmt.Errorf("wait for %s wave %d of %s in region %s: %w", step.Phase, step.Wave, in.Plan.Target, r.settings.Name, err)
	}
	return outcome, nil
}

// awaited are the step's tracked objects, those that it did not write too: what is
// unhealthy stays so when there was nothing to apply.
func awaited(step PlanStep, applied []diff.Record) []diff.Record {
	records := make(map[gitops.ObjectKey]diff.Record, len(applied))
	for _, rec := range applied {
		records[rec.Key] = rec
	}
	var out []diff.Record
	for _, group := range step.Groups {
		for _, o := range group {
			if !o.Tracked {
				continue
			}
			rec, ok := records[o.Key]
			if !ok {
				rec = diff.Record{Key: o.Key, APIVersion: o.APIVersion, UID: o.UID, Generation: o.Generation}
			}
			out = append(out, rec)
		}
	}
	return out
}

// waiting is what one wait is for.
type waiting struct {
	healthy, gone []diff.Record
	deadline      time.Duration
	own           map[gitops.ObjectKey]time.Duration // deadlines of single objects
	yield         bool                               // give up whatever is not a hook at work
	progress      func(string)
}

// waiter is one wait. It is woken when something has changed of what it waits for.
type waiter struct {
	waiting
	tracker *tracker
	started time.Time
	woken   chan struct{}
	pending []pending
	// degraded is what will not become healthy.
	degraded []gitops.ObjectIssue
}

// deadlines are those that objects ask for.
func (s PlanStep) deadlines() map[gitops.ObjectKey]time.Duration {
	own := map[gitops.ObjectKey]time.Duration{}
	for _, group := range s.Groups {
		for _, o := range group {
			if o.Deadline > 0 {
				own[o.Key] = time.Duration(o.Deadline) * time.Second
			}
		}
	}
	return own
}

// pending is one object that is not yet as it should be.
type pending struct {
	diff.Record
	watch *kindWatch
	name  types.NamespacedName
	gone  bool // wait until it is gone, rather than healthy
	lost  bool // a hook whose object does not exist any more
	since time.Time
}

// staleFor is how long an object may show what was wrong with it before it was changed:
// some controllers note that they have seen a change before they look at it, such as that
// of Deployments when one goes back to a ReplicaSet that it had.
const staleFor = 30 * time.Second

// degradedBefore is why an object was Degraded right before it was written, by what the
// answer to the write shows; empty when it was not.
func (t *tracker) degradedBefore(written map[string]any) string {
	status, _ := written["status"].(map[string]any)
	metadata, _ := written["metadata"].(map[string]any)
	observed, ok := status["observedGeneration"]
	if !ok {
		return ""
	}
	before, seen := maps.Clone(written), maps.Clone(metadata)
	seen["generation"] = observed
	before["metadata"] = seen
	health, message := t.rules().OfStatus(before)
	if health != gitops.Degraded {
		return ""
	}
	return message
}

func (w *waiter) notify() {
	select {
	case w.woken <- struct{}{}:
	default: // it is about to look anyway
	}
}

// wait waits. Its cost is that of the events that concern its objects.
func (t *tracker) wait(ctx context.Context, what waiting) (Outcome, error) {
	w := &waiter{waiting: what, tracker: t, started: time.Now(), woken: make(chan struct{}, 1)}
	defer w.release()
	if err := w.subscribe(ctx); err != nil {
		return Outcome{}, err
	}
	if len(w.pending) == 0 {
		return Outcome{Health: gitops.Healthy}, nil
	}
	defer t.keepPulse()()
	deadline := time.NewTimer(w.nextDeadline())
	defer deadline.Stop()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		if w.settle(); w.over() {
			return w.outcome(), nil
		}
		select {
		case <-w.woken:
		case <-second.C:
			if down := t.region.pulse.downFor(); down >= t.region.settings.Unreachable {
				return Outcome{}, fmt.Errorf("%w: for %s", ErrUnreachable, down.Round(time.Second))
			}
			if err := w.lookForVanished(ctx); err != nil {
				return Outcome{}, err
			}
			w.tell()
		case <-deadline.C:
			if late := w.late(); len(late.Issues) > 0 {
				return late, nil
			}
			deadline.Reset(w.nextDeadline())
		case <-ctx.Done():
			return Outcome{}, context.Cause(ctx)
		case <-t.ctx.Done():
			return Outcome{}, errors.New("the region was closed")
		}
	}
}

func (w *waiter) subscribe(ctx context.Context) error {
	for _, set := range []struct {
		records []diff.Record
		gone    bool
	}{{w.healthy, false}, {w.gone, true}} {
		for _, rec := range set.records {
			res, err := w.tracker.region.resourceFor(ctx, rec.Key, rec.APIVersion)
			if set.gone && errors.Is(err, manifest.ErrUnknownKind) {
				continue
			}
			if err != nil {
				return err
			}
			p := pending{Record: rec, watch: w.tracker.watch(res), name: types.NamespacedName{Namespace: rec.Key.Namespace, Name: rec.Key.Name}, gone: set.gone, since: w.started}
			p.watch.subscribe(p.name, w)
			w.pending = append(w.pending, p)
		}
	}
	return nil
}

func (p pending) release(w *waiter) {
	p.watch.unsubscribe(p.name, w)
	p.watch.release()
}

func (w *waiter) release() {
	for _, p := range w.pending {
		p.release(w)
	}
}

// settle lets go of what is as it should be, and of what is Degraded.
func (w *waiter) settle() {
	w.pending = slices.DeleteFunc(w.pending, func(p pending) bool {
		status, message := p.judge()
		if status == gitops.Degraded {
			w.degraded = append(w.degraded, gitops.ObjectIssue{Object: p.Key.String(), Health: status, Message: clip(message)})
		}
		if status == gitops.Healthy || status == gitops.Degraded {
			p.release(w)
			return true
		}
		return false
	})
}

// over says whether there is nothing left to wait for. Where something is Degraded
// that is everything but hooks: they are not left in the middle of their work.
func (w *waiter) over() bool {
	running := func(p pending) bool { return p.Hook != "" && !p.gone && (!w.yield || p.atWork()) }
	return len(w.pending) == 0 || (w.yield || len(w.degraded) > 0) && !slices.ContainsFunc(w.pending, running)
}

func (w *waiter) outcome() Outcome {
	sortIssues(w.degraded)
	switch {
	case len(w.degraded) > 0:
		return Outcome{Health: gitops.Degraded, Issues: w.degraded}
	case len(w.pending) > 0:
		return Outcome{Health: gitops.Progressing}
	default:
		return Outcome{Health: gitops.Healthy}
	}
}

// judge says how an object is, seen from what was applied.
func (p pending) judge() (gitops.HealthStatus, string) {
	s, exists, synced := p.watch.look(p.name)
	switch {
	case p.Hook != "" && synced && !p.gone:
		return p.judgeHook(s, exists)
	case !synced:
		return gitops.Progressing, "has not been seen yet"
	case p.gone && (!exists || s.uid != p.UID):
		return gitops.Healthy, ""
	case p.gone:
		return gitops.Progressing, "is still there: finalizers or its grace period keep it"
	case !exists:
		return gitops.Missing, "is missing: it may have been deleted, or lost the label " + manifest.LabelManaged
	case s.uid != p.UID:
		return gitops.Missing, "was made anew by somebody else"
	case s.generation < p.Generation:
		return gitops.Progressing, "has not been seen at the generation that was applied"
	case s.deleting:
		return gitops.Progressing, "is being deleted"
	case s.health == gitops.Degraded && p.Stale != "" && s.message == p.Stale && time.Since(p.since) < staleFor:
		return gitops.Progressing, "shows what it showed before it was changed: " + s.message
	}
	return s.health, s.message
}

// deadlineOf is how long an object may take.
func (w *waiter) deadlineOf(p pending) time.Duration {
	if own, ok := w.own[p.Key]; ok {
		return own
	}
	return w.deadline
}

// nextDeadline is how long it is until the first object is late.
func (w *waiter) nextDeadline() time.Duration {
	next := w.deadlineOf(w.pending[0])
	for _, p := range w.pending {
		next = min(next, w.deadlineOf(p))
	}
	return max(next-time.Since(w.started), 0)
}

// late is the outcome when some objects have passed their deadline.
func (w *waiter) late() Outcome {
	outcome := Outcome{Health: gitops.Healthy, Issues: w.degraded}
	if len(w.degraded) > 0 {
		outcome.Health = gitops.Degraded
	}
	for _, p := range w.pending {
		if time.Since(w.started) < w.deadlineOf(p) {
			continue
		}
		status, message := p.judge()
		outcome.Health = outcome.Health.Worse(status)
		outcome.Issues = append(outcome.Issues, gitops.ObjectIssue{
			Object: p.Key.String(), Health: status,
			Message: fmt.Sprintf("%s; waited %s, which is the deadline", clip(message), time.Since(w.started).Round(time.Second)),
		})
	}
	sortIssues(outcome.Issues)
	return outcome
}

// tell reports what the wait is about.
func (w *waiter) tell() {
	if w.progress == nil || len(w.pending) == 0 {
		return
	}
	_, message := w.pending[0].judge()
	line := fmt.Sprintf("%d of %d done after %s; %s %s", len(w.healthy)+len(w.gone)-len(w.pending), len(w.healthy)+len(w.gone),
		time.Since(w.started).Round(time.Second), w.pending[0].Key, clip(message))
	w.progress(line)
}

// keepPulse asks the region now and then whether it is there, while anybody
// waits: a watch does not tell a frozen server from a quiet one.
func (t *tracker) keepPulse() (stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting++
	if !t.pulsing {
		t.pulsing = true
		go t.takePulse()
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.waiting--
	}
}

// pulseEvery is how long a region may be quiet while somebody waits.
const pulseEvery = 2 * time.Second

func (t *tracker) takePulse() {
	for pause(t.ctx, pulseEvery) {
		t.mu.Lock()
		t.pulsing = t.waiting > 0
		if !t.pulsing {
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		if t.region.pulse.quietFor() >= pulseEvery {
			t.region.ask(t.ctx)
		}
	}
}

func sortIssues(issues []gitops.ObjectIssue) {
	slices.SortFunc(issues, func(a, b gitops.ObjectIssue) int {
		return cmp.Or(strings.Compare(a.Object, b.Object), strings.Compare(a.Message, b.Message))
	})
}
