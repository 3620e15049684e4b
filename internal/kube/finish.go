package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

// FinishInput is a plan that has come to its end.
type FinishInput struct {
	Plan  Plan
	Claim Claim // its Step is set to the one after the last
	// Delivered says that all of it was carried out.
	Delivered bool
}

// Finish ends the hooks of a plan: it lets go of their objects, and deletes those
// whose policies say so, or that have not ended. It may be repeated.
func (r *Region) Finish(ctx context.Context, in FinishInput) error {
	in.Claim.Step = len(in.Plan.Steps)
	if !hasCaller(ctx) {
		ctx = WithCaller(ctx, in.Claim.String())
	}
	if err := r.finish(ctx, in); err != nil {
		return fmt.Errorf("end the hooks of %s in region %s: %w", in.Plan.Target, r.settings.Name, err)
	}
	return nil
}

func (r *Region) finish(ctx context.Context, in FinishInput) error {
	if err := r.tracker.learn(in.Plan.Health); err != nil {
		return err
	}
	if gone, err := r.isErased(ctx, in.Plan); gone || err != nil {
		return err
	}
	f, err := r.newFence(ctx, in.Plan, in.Claim)
	if err != nil {
		return err
	}
	if err := f.take(ctx, in.Plan.Bundle, nil); err != nil {
		return err
	}
	gone, err := r.endHooks(ctx, f, in)
	switch {
	case err != nil:
		return err
	case in.Plan.Deletes && in.Delivered:
		return f.erase(ctx)
	case in.Delivered:
		return f.record(ctx, report{gone: gone, last: true, delivered: in.Plan.Bundle})
	}
	return f.record(ctx, report{gone: gone, last: true})
}

// endHooks ends the hooks of a plan, and returns those whose objects it has deleted.
// Nobody is left to delete them later when their target is gone.
func (r *Region) endHooks(ctx context.Context, f *fence, in FinishInput) (gone []gitops.ObjectKey, err error) {
	for _, step := range in.Plan.Steps {
		for _, o := range step.hooks() {
			if err := f.check(ctx); err != nil {
				return nil, err
			}
			run := hookRun{o.Key, o.APIVersion, in.Plan.Target, o.Hook, o.Tracked}
			if in.Plan.Deletes && in.Delivered {
				run.hook = nil
			}
			deleted, err := r.endRun(ctx, run)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", o.Key, err)
			}
			if deleted != "" {
				gone = append(gone, o.Key)
			}
		}
	}
	return gone, nil
}

// hookRun is the object of a hook's run. Without a hook it is an earlier one of
// whatever rollout.
type hookRun struct {
	key        gitops.ObjectKey
	apiVersion string
	target     string
	hook       *PlannedHook
	awaited    bool // its end was waited for
}

// endRun lets go of the object of a hook's run, and deletes it where a policy says
// so or it has not ended; an earlier one in any case. It returns the UID of what it
// has deleted; nothing when there is no such object, or it is not ours.
func (r *Region) endRun(ctx context.Context, run hookRun) (deleted string, err error) {
	key := run.key
	res, err := r.resourceFor(ctx, key, run.apiVersion)
	if errors.Is(err, manifest.ErrUnknownKind) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	live, err := r.get(ctx, res, key.Namespace, key.Name)
	if err != nil {
		return "", ignoreNotFound(err)
	}
	id := identify(live)
	ours := manifest.TrackedBy(id.annotations[manifest.AnnotationTracking], key) == run.target
	if !ours || run.hook != nil && id.annotations[manifest.AnnotationHookRun] != run.hook.Run {
		return "", nil
	}
	if err := r.amend(ctx, res, key, withoutFinalizer); err != nil {
		return "", err
	}
	if run.hook != nil && !r.deletes(live, run) {
		return "", nil
	}
	if _, err := r.delete(ctx, res, PlannedObject{Key: key, UID: id.uid}, metav1.DeletePropagationForeground); err != nil && !errors.Is(err, errMoved) {
		return "", ignoreNotFound(err)
	}
	return id.uid, nil
}

// deletes says whether a hook's object goes now that its rollout is over. One that has
// not ended goes, unless nobody was ever to wait for it.
func (r *Region) deletes(live map[string]any, run hookRun) bool {
	switch status, _ := r.tracker.rules().OfStatus(live); status {
	case gitops.Healthy:
		return slices.Contains(run.hook.Delete, gitops.HookSucceeded)
	case gitops.Degraded, gitops.HealthUnknown:
		return slices.Contains(run.hook.Delete, gitops.HookFailed)
	default:
		return run.awaited
	}
}

// withoutFinalizer is the JSON patch that takes our finalizer off; nil when it is
// not there.
func withoutFinalizer(live map[string]any) ([]byte, error) {
	metadata, _ := live["metadata"].(map[string]any)
	finalizers, _ := metadata["finalizers"].([]any)
	at := slices.Index(finalizers, any(manifest.HookFinalizer))
	if at < 0 {
		return nil, nil
	}
	path := fmt.Sprintf("/metadata/finalizers/%d", at)
	return json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": metadata["uid"]},
		{"op": "test", "path": path, "value": manifest.HookFinalizer},
		{"op": "remove", "path": path},
	})
}
