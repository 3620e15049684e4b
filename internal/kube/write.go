package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/tidegate/tidegate/internal/diff"
)

// writeOnce writes an object in its manner. It returns errMoved when something is
// there that the plan did not find, and that must not be taken over unseen.
func (w *work) writeOnce(ctx context.Context, res resource, o PlannedObject, as applyAs) (live map[string]any, err error) {
	switch {
	case o.Manner.Replace && o.Manner.Force:
		return w.recreate(ctx, res, o, as.force)
	case o.Manner.Replace:
		return w.replace(ctx, res, o, as.force)
	case o.Manner.ClientSide:
		live, err = w.merge(ctx, res, o, as.force)
	default:
		live, err = w.region.apply(ctx, res, o, as)
	}
	if o.Manner.Force && apierrors.IsInvalid(err) {
		return w.recreate(ctx, res, o, as.force)
	}
	return live, err
}

// current reads the object that is to be changed; nil when there is none, and it is
// to be made. Without force there must be none.
func (w *work) current(ctx context.Context, res resource, o PlannedObject, force bool) (map[string]any, error) {
	live, err := w.region.get(ctx, res, o.Key.Namespace, o.Key.Name)
	switch {
	case apierrors.IsNotFound(err) && !isUnserved(err):
		return nil, nil
	case err == nil && !force:
		return nil, errMoved
	}
	return live, err
}

// make creates an object; errMoved when somebody was faster.
func (w *work) make(ctx context.Context, res resource, o PlannedObject) (map[string]any, error) {
	if !o.Manner.projects() {
		return w.region.apply(ctx, res, o, applyAs{manager: w.manager(o)})
	}
	live, err := w.region.create(ctx, res, o)
	if apierrors.IsAlreadyExists(err) {
		return nil, errMoved
	}
	return live, err
}

// carried is what a replacement leaves as it is, unless it says something of it:
// what others hold the object by.
var carried = []string{"finalizers", "ownerReferences"}

// replace puts the object in the place of what is there (kubectl replace).
func (w *work) replace(ctx context.Context, res resource, o PlannedObject, force bool) (map[string]any, error) {
	for range maxRaces {
		live, err := w.current(ctx, res, o, force)
		if err != nil {
			return nil, err
		}
		if live == nil {
			return w.make(ctx, res, o)
		}
		carry, err := w.ignored[o.Key].Paths(ctx, live, live)
		if err != nil {
			return nil, err
		}
		body, err := replacement(o.Content, live, carry)
		if err != nil {
			return nil, err
		}
		if live, err = w.region.put(ctx, res, o, body); !errors.Is(err, errMoved) {
			return live, err
		}
	}
	return nil, errRaces
}

func replacement(content json.RawMessage, live map[string]any, carry []diff.Path) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal(content, &object); err != nil {
		return nil, fmt.Errorf("decode what is desired: %w", err)
	}
	metadata, _ := object["metadata"].(map[string]any)
	current, _ := live["metadata"].(map[string]any)
	metadata["resourceVersion"], metadata["uid"] = current["resourceVersion"], current["uid"]
	for _, field := range carried {
		if _, said := metadata[field]; !said && current[field] != nil {
			metadata[field] = current[field]
		}
	}
	diff.Carry(live, object, carry)
	return json.Marshal(object)
}

// recreate deletes what is there and makes the object anew (kubectl replace --force).
func (w *work) recreate(ctx context.Context, res resource, o PlannedObject, force bool) (map[string]any, error) {
	live, err := w.current(ctx, res, o, force)
	if err != nil {
		return nil, err
	}
	if live == nil {
		return w.make(ctx, res, o)
	}
	uid := identify(live).uid
	if _, err := w.region.delete(ctx, res, PlannedObject{Key: o.Key, UID: uid}, metav1.DeletePropagationBackground); err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("delete it, to make it anew: %w", err)
	}
	gone := diff.Record{Key: o.Key, APIVersion: o.APIVersion, UID: uid}
	outcome, err := w.region.tracker.wait(ctx, waiting{gone: []diff.Record{gone}, deadline: w.region.settings.Patience})
	if err != nil {
		return nil, err
	}
	if len(outcome.Issues) > 0 {
		return nil, fmt.Errorf("it was deleted, to be made anew, and %s", outcome.Issues[0].Message)
	}
	return w.make(ctx, res, o)
}

// merge changes what is there by what is desired and by what was applied last
// (kubectl apply).
func (w *work) merge(ctx context.Context, res resource, o PlannedObject, force bool) (map[string]any, error) {
	live, err := w.current(ctx, res, o, force)
	if err != nil {
		return nil, err
	}
	if live == nil {
		return w.make(ctx, res, o)
	}
	current, err := json.Marshal(live)
	if err != nil {
		return nil, err
	}
	patch, kind, err := threeWay(w.appliedLast(o, live), o, current)
	if err != nil {
		return nil, fmt.Errorf("merge it with what is there: %w", err)
	}
	if string(patch) == "{}" {
		return live, nil
	}
	return w.region.patch(ctx, res, o, kind, patch)
}

// appliedLast is what was applied last: by us, or by kubectl or Argo CD before.
func (w *work) appliedLast(o PlannedObject, live map[string]any) []byte {
	for _, rec := range w.fence.inv.Records {
		if rec.Key == o.Key && len(rec.Applied) > 0 {
			return rec.Applied
		}
	}
	return []byte(identify(live).annotations["kubectl.kubernetes.io/last-applied-configuration"])
}

// threeWay is the patch that brings a live object to what is desired: by the rules
// of its kind where that is one of Kubernetes' own, as JSON otherwise.
func threeWay(last []byte, o PlannedObject, current []byte) (patch []byte, kind types.PatchType, err error) {
	typed, err := scheme.Scheme.New(schema.FromAPIVersionAndKind(o.APIVersion, o.Key.Kind))
	if err != nil {
		patch, err = jsonmergepatch.CreateThreeWayJSONMergePatch(last, o.Content, current)
		return patch, types.MergePatchType, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, "", err
	}
	patch, err = strategicpatch.CreateThreeWayMergePatch(last, o.Content, current, meta, true)
	return patch, types.StrategicMergePatchType, err
}
