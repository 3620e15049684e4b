package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/health"
	"github.com/tidegate/tidegate/internal/manifest"
)

// PlannedHook is what a planned object has of a hook.
type PlannedHook struct {
	ID     string                    `json:"id"`  // what its runs have in common
	Run    string                    `json:"run"` // which of them this is
	Delete []gitops.HookDeletePolicy `json:"delete"`
}

// hook is a hook of the bundle on its way into the plan.
type hook struct {
	manifest.Object // as this rollout runs it
	id, run, digest string
	encoded         json.RawMessage
}

// makeHook gives a hook its run. What is digested is what was declared: it is the
// same for every rollout.
func makeHook(in PlanInput, o manifest.Object) (hook, error) {
	declared, err := manifest.Encode(o.Content)
	if err != nil {
		return hook{}, err
	}
	run, id := o.Run(in.Target.Name, in.Rollout, health.Ends(o.Content))
	h := hook{Object: run, id: o.HookID(), run: id, digest: in.MAC.Digest(declared)}
	h.encoded, err = manifest.Encode(run.Content)
	return h, err
}

func (h hook) planned(rules health.Rules) PlannedObject {
	return PlannedObject{
		Key: h.Key, APIVersion: h.APIVersion, Action: diff.Run, Reason: string(h.Phase) + " hook", Digest: h.digest, Content: h.encoded,
		Tracked: rules.Tracked(h.Content) && !h.Options.NoWait, Deadline: h.Options.Deadline, Manner: Manner{Lenient: h.Options.Lenient}, Hook: &PlannedHook{ID: h.id, Run: h.run, Delete: h.Options.DeletePolicies},
	}
}

// recordsBut are an inventory's records without those of the hooks that are still
// declared: what becomes of their objects is said by their policies.
func recordsBut(inv *Inventory, hooks []hook) map[gitops.ObjectKey]diff.Record {
	records := inv.byKey()
	for _, h := range hooks {
		delete(records, h.Key)
	}
	for key, rec := range records {
		if rec.Hook != "" && slices.ContainsFunc(hooks, func(h hook) bool { return h.id == rec.Hook }) {
			delete(records, key)
		}
	}
	return records
}

// clearHooks deletes the objects of earlier runs that are in the way of a step's
// hooks, or are to go before these run, and waits until they are gone. Nothing of
// the region's budget is held while it waits.
func (w *work) clearHooks(ctx context.Context, step PlanStep) error {
	var old []diff.Record
	blocks := map[gitops.ObjectKey]PlannedObject{} // by the old object
	for _, o := range step.hooks() {
		for _, rec := range w.fence.inv.Records {
			before := rec.Hook == o.Hook.ID && slices.Contains(o.Hook.Delete, gitops.BeforeHookCreation)
			if (before || rec.Key == o.Key) && rec.Run != o.Hook.Run {
				old = append(old, rec)
				blocks[rec.Key] = o
			}
		}
	}
	var left []diff.Record
	for _, rec := range old {
		if err := w.fence.check(ctx); err != nil {
			return err
		}
		deleted, err := w.region.endRun(ctx, hookRun{key: rec.Key, apiVersion: rec.APIVersion, target: w.in.Plan.Target})
		if err != nil {
			return fmt.Errorf("delete the earlier run %s of a hook: %w", rec.Key, err)
		}
		if deleted != "" {
			rec.UID = deleted
			left = append(left, rec)
		}
		w.forget(rec.Key)
	}
	outcome, err := w.region.tracker.wait(ctx, waiting{gone: left, deadline: w.region.settings.Patience})
	if err != nil {
		return err
	}
	w.block(outcome.Issues, left, blocks)
	return nil
}

// block notes the hooks that cannot run since an earlier run does not go away.
func (w *work) block(issues []gitops.ObjectIssue, left []diff.Record, blocks map[gitops.ObjectKey]PlannedObject) {
	for _, rec := range left {
		at := slices.IndexFunc(issues, func(i gitops.ObjectIssue) bool { return i.Object == rec.Key.String() })
		if at < 0 {
			continue
		}
		o := blocks[rec.Key]
		w.blocked[o.Key] = true
		w.done++
		w.failures = append(w.failures, gitops.ObjectIssue{
			Object: o.Key.String(), Health: gitops.Missing, Message: fmt.Sprintf("the hook cannot run while %s of an earlier run is still there: %s", rec.Key, issues[at].Message),
		})
	}
}

// hooks are the step's hooks.
func (s PlanStep) hooks() (hooks []PlannedObject) {
	for _, group := range s.Groups {
		for _, o := range group {
			if o.Hook != nil {
				hooks = append(hooks, o)
			}
		}
	}
	return hooks
}

// runHook creates the object of a hook; one that this run has created before is
// adopted as it is.
func (w *work) runHook(ctx context.Context, o PlannedObject) error {
	res, err := w.served(ctx, o)
	if err != nil {
		return err
	}
	if o.Tracked {
		w.region.tracker.prepare(res)
	}
	live, err := w.create(ctx, res, o)
	if err != nil {
		return err
	}
	id := identify(live)
	rec := diff.Record{
		Key: o.Key, APIVersion: o.APIVersion, UID: id.uid, ResourceVersion: id.resourceVersion, Generation: id.generation,
		Desired: o.Digest, Wave: w.in.Plan.Steps[w.in.Step].Wave, Hook: o.Hook.ID, Run: o.Hook.Run,
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records = append(w.records, rec)
	if o.Tracked {
		w.waits = append(w.waits, rec)
	}
	return nil
}

func (w *work) create(ctx context.Context, res resource, o PlannedObject) (map[string]any, error) {
	for started := time.Now(); ; {
		live, err := w.region.create(ctx, res, o)
		switch {
		case apierrors.IsAlreadyExists(err):
			live, err = w.adopt(ctx, res, o)
			if err == nil || !errors.Is(err, errMoved) {
				return live, err
			}
		case !isUnserved(err) || time.Since(started) > definitionPatience:
			return live, err
		}
		if !pause(ctx, firstDelay) {
			return nil, context.Cause(ctx)
		}
	}
}

// adopt returns the object that is there instead of the one to be created, if it is
// of this very run. One of an earlier run that the inventory did not know of is
// deleted; errMoved says to try again.
func (w *work) adopt(ctx context.Context, res resource, o PlannedObject) (map[string]any, error) {
	live, err := w.region.get(ctx, res, o.Key.Namespace, o.Key.Name)
	if apierrors.IsNotFound(err) {
		return nil, errMoved
	}
	if err != nil {
		return nil, err
	}
	id := identify(live)
	switch {
	case manifest.TrackedBy(id.annotations[manifest.AnnotationTracking], o.Key) != w.in.Plan.Target:
		return nil, errors.New("an object of this name exists and is not this hook's; it is left alone: rename the hook, or delete the object")
	case id.annotations[manifest.AnnotationHookRun] == o.Hook.Run:
		return live, nil
	}
	uid, err := w.region.endRun(ctx, hookRun{key: o.Key, apiVersion: o.APIVersion, target: w.in.Plan.Target})
	if err != nil || uid == "" {
		return nil, errors.Join(err, errMoved)
	}
	outcome, err := w.region.tracker.wait(ctx, waiting{gone: []diff.Record{{Key: o.Key, APIVersion: o.APIVersion, UID: uid}}, deadline: w.region.settings.Patience})
	if err != nil {
		return nil, err
	}
	if len(outcome.Issues) > 0 {
		return nil, fmt.Errorf("the hook cannot run while its object of an earlier run is still there: %s", outcome.Issues[0].Message)
	}
	return nil, errMoved
}

// judgeHook says how a hook's object is. What has ended has ended, even when it is
// being deleted since.
func (p pending) judgeHook(s state, exists bool) (gitops.HealthStatus, string) {
	switch {
	case p.lost:
		return gitops.Degraded, "was deleted by somebody else before it was seen to end"
	case !exists:
		return gitops.Missing, "has not been seen yet"
	case s.uid != p.UID:
		return gitops.Degraded, "was made anew by somebody else while it ran"
	case s.health == gitops.Healthy:
		return gitops.Healthy, ""
	case s.health == gitops.Degraded, s.health == gitops.HealthUnknown:
		return gitops.Degraded, s.message
	case s.deleting:
		return gitops.Degraded, "is being deleted by somebody else before it has ended"
	}
	return s.health, s.message
}

// atWork says whether a hook does something, as far as can be seen: one whose image
// cannot be pulled does not.
func (p pending) atWork() bool {
	s, exists, synced := p.watch.look(p.name)
	return !synced || exists && s.uid == p.UID && s.atWork
}

// lookForVanished asks the region itself about hooks whose objects the watch does
// not show: it may be late. What does not exist any more will not be seen to end.
func (w *waiter) lookForVanished(ctx context.Context) error {
	for i := range w.pending {
		p := &w.pending[i]
		if _, exists, synced := p.watch.look(p.name); p.Hook == "" || p.gone || exists || !synced {
			continue
		}
		live, err := w.tracker.region.getMetadata(ctx, p.watch.resource, p.name.Namespace, p.name.Name)
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if p.lost = err != nil || string(live.UID) != p.UID; p.lost {
			w.notify()
		}
	}
	return nil
}
