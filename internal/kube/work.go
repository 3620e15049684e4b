package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/health"
	"github.com/tidegate/tidegate/internal/manifest"
)

// work is one step being carried out.
type work struct {
	region *Region
	fence  *fence
	in     ApplyInput
	total  int
	until  time.Time // passing errors are retried

	mu       sync.Mutex
	done     int
	records  []diff.Record // for the inventory
	waits    []diff.Record // for the wait
	gone     []gitops.ObjectKey
	failures []gitops.ObjectIssue
	ignored  map[gitops.ObjectKey]diff.Ignored
	blocked  map[gitops.ObjectKey]bool // hooks whose earlier run does not go away
}

// group writes the objects of one kind, some at the same time. What the region
// refuses is noted; what ends the step is returned.
func (w *work) group(ctx context.Context, objects []PlannedObject) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, o := range objects {
		do := w.apply
		switch {
		case o.Action == diff.Prune:
			do = w.prune
		case o.Hook != nil && w.blocked[o.Key]:
			continue
		case o.Hook != nil:
			do = w.runHook
		case !o.writes():
			continue
		}
		select {
		case w.region.inFlight <- struct{}{}:
		case <-ctx.Done():
			if err := group.Wait(); err != nil {
				return err
			}
			return context.Cause(ctx)
		}
		group.Go(func() error { return w.note(ctx, o, w.insist(ctx, o, do)) })
	}
	return group.Wait()
}

// In a place of the region's budget an object is retried for a short time only. Then
// it makes room for others, and comes back.
const (
	slotPatience = 2 * time.Second
	longestPause = 10 * time.Second
)

// insist writes an object, again while the region has no more than passing trouble
// with it, until the step's deadline. The caller has taken a place in the region's
// budget for it.
func (w *work) insist(ctx context.Context, o PlannedObject, do func(context.Context, PlannedObject) error) error {
	for delay := firstDelay; ; delay = min(2*delay, longestPause) {
		err := w.fence.check(ctx)
		if err == nil {
			err = do(w.fence.behind(withPatience(ctx, slotPatience)), o)
		}
		<-w.region.inFlight
		if err == nil || ctx.Err() != nil || !passes(err) || time.Now().After(w.until) {
			return err
		}
		w.say(fmt.Sprintf("%s is retried: %s", o.Key, issue(o, err).Message))
		if !pause(ctx, pauseAfter(err, delay)) {
			return context.Cause(ctx)
		}
		select {
		case w.region.inFlight <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// say tells how far the step is.
func (w *work) say(more string) {
	if w.in.Progress == nil {
		return
	}
	w.mu.Lock()
	message := fmt.Sprintf("%d of %d objects written", w.done, w.total)
	w.mu.Unlock()
	if more != "" {
		message += "; " + more
	}
	w.in.Progress(message)
}

// note turns an object's error into a failure of the object, unless it concerns
// the whole step.
func (w *work) note(ctx context.Context, o PlannedObject, err error) error {
	if err != nil && (ctx.Err() != nil || errors.Is(err, ErrUnreachable) || errors.Is(err, ErrFenced)) {
		return err
	}
	w.mu.Lock()
	w.done++
	if err != nil {
		w.failures = append(w.failures, issue(o, err))
	}
	w.mu.Unlock()
	w.say("")
	return nil
}

func (w *work) apply(ctx context.Context, o PlannedObject) error {
	res, err := w.served(ctx, o)
	if err != nil {
		return err
	}
	if o.Tracked {
		w.region.tracker.prepare(res)
	}
	if o.Adopted && !w.in.Plan.KeepManagers {
		if err := w.region.takeFields(ctx, res, o.Key); err != nil {
			return fmt.Errorf("take its fields over: %w", err)
		}
	}
	if ignored := w.ignored[o.Key]; len(ignored) > 0 && o.Action == diff.Change && !o.Manner.projects() {
		if err := w.region.release(ctx, res, o.Key, ignored); err != nil {
			return fmt.Errorf("let go of fields that are left to others: %w", err)
		}
	}
	live, err := w.write(ctx, res, o)
	if err != nil {
		return err
	}
	var content map[string]any
	if o.Manner.projects() {
		if content, err = w.ours(ctx, o, live); err != nil {
			return err
		}
	}
	id := identify(live)
	rec := diff.Record{
		Key: o.Key, APIVersion: o.APIVersion, UID: id.uid, ResourceVersion: id.resourceVersion, Generation: id.generation,
		Desired: o.Digest, Wave: w.in.Plan.Steps[w.in.Step].Wave,
	}
	if o.Manner.ClientSide {
		if rec.Applied, err = manifest.Encode(manifest.Redact(content)); err != nil {
			return err
		}
	}
	stale := w.region.tracker.degradedBefore(live)
	if live, err = without(ctx, live, w.ignored[o.Key]); err != nil {
		return err
	}
	if sum, err := w.region.owned(live, content); err == nil {
		rec.Owned = w.in.MAC("owned", sum[:])
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.Tracked {
		waited := rec
		waited.Stale = stale
		w.waits = append(w.waits, waited)
	}
	if !o.Shared {
		w.records = append(w.records, rec)
	}
	return nil
}

// ours is what is desired of an object, without the fields that are left to others.
func (w *work) ours(ctx context.Context, o PlannedObject, live map[string]any) (content map[string]any, err error) {
	if err := utiljson.Unmarshal(o.Content, &content); err != nil {
		return nil, fmt.Errorf("decode what is desired: %w", err)
	}
	paths, err := w.ignored[o.Key].Paths(ctx, content, live)
	if err != nil || len(paths) == 0 {
		return content, err
	}
	return diff.NewDigester(FieldManager).Without(content, paths), nil
}

// write applies an object. A kind that was defined a moment ago may be known and
// not served yet.
func (w *work) write(ctx context.Context, res resource, o PlannedObject) (map[string]any, error) {
	// What the plan did not find may exist by now: taking fields over from others
	// would take the object.
	as := applyAs{manager: w.manager(o), force: o.Action != diff.Create || o.Shared}
	for started := time.Now(); ; {
		live, err := w.writeOnce(ctx, res, o, as)
		if errors.Is(err, errMoved) && !as.force {
			if err := w.checkOurs(ctx, res, o); err != nil {
				return nil, err
			}
			as.force = true
			continue
		}
		if !isUnserved(err) || time.Since(started) > definitionPatience || !pause(ctx, firstDelay) {
			return live, err
		}
	}
}

// checkOurs looks whether an object that the plan did not find is one of ours after
// all: an attempt before may have created it.
func (w *work) checkOurs(ctx context.Context, res resource, o PlannedObject) error {
	live, err := w.region.getMetadata(ctx, res, o.Key.Namespace, o.Key.Name)
	if err != nil {
		return err
	}
	if manifest.TrackedBy(live.Annotations[manifest.AnnotationTracking], o.Key) != w.in.Plan.Target {
		return errors.New("it was created by somebody else since the plan, and is left alone")
	}
	return nil
}

// served finds an object's resource. Its kind may have been defined by this very
// step, or by a controller that is about to: it is given some time to appear.
func (w *work) served(ctx context.Context, o PlannedObject) (res resource, err error) {
	for started := time.Now(); ; {
		res, err = w.region.resourceFor(ctx, o.Key, o.APIVersion)
		if !errors.Is(err, manifest.ErrUnknownKind) || time.Since(started) > definitionPatience || !pause(ctx, firstDelay) {
			return res, err
		}
	}
}

// manager is the field manager that an object is applied as. A namespace that
// several targets share has one for each, so that they do not take one another's
// labels away.
func (w *work) manager(o PlannedObject) string {
	const longest = 128
	if !o.Shared {
		return FieldManager
	}
	name := FieldManager + "/" + w.in.Plan.Target
	return name[:min(len(name), longest)]
}

func (w *work) prune(ctx context.Context, o PlannedObject) error {
	res, err := w.region.resourceFor(ctx, o.Key, o.APIVersion)
	if errors.Is(err, manifest.ErrUnknownKind) { // its definition is gone, and with it the object
		w.forget(o.Key)
		return nil
	}
	if err != nil {
		return err
	}
	if w.wasHook(o.Key) {
		if err := w.region.amend(ctx, res, o.Key, withoutFinalizer); err != nil {
			return err
		}
	}
	gone, err := w.region.delete(ctx, res, o, w.propagation(o))
	if isUnserved(err) {
		w.region.kinds.forget()
	}
	switch {
	case apierrors.IsNotFound(err):
		gone = true
	case errors.Is(err, errMoved):
		return errors.New("it was made anew since the plan; it is left alone")
	case err != nil:
		return err
	}
	if gone {
		w.forget(o.Key)
		return nil
	}
	// What is held by somebody stays in the inventory until it is gone.
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits = append(w.waits, diff.Record{Key: o.Key, APIVersion: o.APIVersion, UID: o.UID})
	return nil
}

// wasHook says whether an object to be pruned is of an earlier run of a hook: our own
// finalizer may be on it.
func (w *work) wasHook(key gitops.ObjectKey) bool {
	return slices.ContainsFunc(w.fence.inv.Records, func(rec diff.Record) bool { return rec.Key == key && rec.Hook != "" })
}

// propagation is how the deletion of an object reaches its dependents. What has none
// need not wait for them.
func (w *work) propagation(o PlannedObject) metav1.DeletionPropagation {
	policy := cmp.Or(w.in.Plan.Propagation, metav1.DeletePropagationForeground)
	if policy == metav1.DeletePropagationForeground && health.IsLeaf(schema.GroupKind{Group: o.Key.Group, Kind: o.Key.Kind}) {
		return metav1.DeletePropagationBackground
	}
	return policy
}

func (w *work) forget(key gitops.ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = append(w.gone, key)
}

// definitionPatience is how long a new kind may take until it is served.
const definitionPatience = 30 * time.Second

// settle waits until the kinds that a group has defined are served, when objects
// follow that may be of such a kind.
func (w *work) settle(ctx context.Context, group []PlannedObject, following [][]PlannedObject) error {
	defined := func(o PlannedObject) bool {
		return o.Key.Kind == "CustomResourceDefinition" && o.Key.Group == "apiextensions.k8s.io" && o.writes()
	}
	if !slices.ContainsFunc(group, defined) || len(following) == 0 {
		return nil
	}
	w.mu.Lock()
	applied := slices.Clone(w.waits)
	w.mu.Unlock()
	applied = slices.DeleteFunc(applied, func(rec diff.Record) bool {
		return !slices.ContainsFunc(group, func(o PlannedObject) bool { return o.Key == rec.Key && defined(o) })
	})
	outcome, err := w.region.tracker.wait(ctx, waiting{healthy: applied, deadline: definitionPatience})
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = append(w.failures, outcome.Issues...)
	return nil
}

// finish records the step in the inventory, in one update.
func (w *work) finish(ctx context.Context) (Applied, error) {
	did := report{done: w.records, gone: w.gone, last: w.in.Step == len(w.in.Plan.Steps)-1}
	if did.last {
		did.gone = append(did.gone, w.in.Plan.Forgotten...)
	}
	did.last = did.last || len(w.failures) > 0 // which is where a rollout ends
	if err := w.fence.record(ctx, did); err != nil {
		return Applied{}, err
	}
	sortIssues(w.failures)
	slices.SortFunc(w.waits, func(a, b diff.Record) int { return a.Key.Compare(b.Key) })
	return Applied{Records: w.waits, Applied: w.done - len(w.failures), Failures: w.failures}, nil
}
