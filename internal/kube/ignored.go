package kube

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

// leaveIgnored takes the fields that are left to others out of what is desired.
// Objects that do not exist yet are made with them.
func (v *view) leaveIgnored(ctx context.Context) error {
	for i := range v.wanted {
		d := &v.wanted[i]
		ignored := v.ignore.Of(d.Key)
		if len(ignored) == 0 || d.shared {
			continue
		}
		live, err := v.liveFor(ctx, d)
		if err != nil {
			return err
		}
		paths, err := ignored.Paths(ctx, d.Content, live)
		if err != nil {
			return fmt.Errorf("%w: %s: ignoreDifferences: %w", manifest.ErrInvalid, d.Key, err)
		}
		v.ignored[d.Key] = ignored
		if len(paths) == 0 {
			continue
		}
		d.initial = d.encoded
		d.Content = diff.NewDigester(FieldManager).Without(d.Content, paths)
		if d.encoded, err = manifest.Encode(d.Content); err != nil {
			return err
		}
		d.digest = v.mac.Digest(d.encoded)
	}
	return nil
}

// liveFor is a desired object as it is now; nil when it does not exist, or when
// nobody has to look.
func (v *view) liveFor(ctx context.Context, d *desired) (map[string]any, error) {
	if _, exists := v.live[d.Key]; !exists || !v.ignore.Of(d.Key).NeedLive() {
		return nil, nil
	}
	res, err := v.region.resourceFor(ctx, d.Key, d.APIVersion)
	if err != nil {
		return nil, err
	}
	live, err := v.region.get(ctx, res, d.Key.Namespace, d.Key.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// without is a live object without the fields that are left to others.
func without(ctx context.Context, live map[string]any, ignored diff.Ignored) (map[string]any, error) {
	if len(ignored) == 0 {
		return live, nil
	}
	paths, err := ignored.Paths(ctx, live, live)
	if err != nil || len(paths) == 0 {
		return live, err
	}
	return diff.NewDigester(FieldManager).Without(live, paths), nil
}

// release lets go of the fields of an object that are left to others: an apply that
// does not have them leaves them as they are then. It may be repeated.
func (r *Region) release(ctx context.Context, res resource, key gitops.ObjectKey, ignored diff.Ignored) error {
	return r.amend(ctx, res, key, func(live map[string]any) ([]byte, error) {
		paths, err := ignored.Paths(ctx, live, live)
		if err != nil || !diff.NewDigester(FieldManager).Disown(live, paths) {
			return nil, err
		}
		metadata, _ := live["metadata"].(map[string]any)
		return json.Marshal([]map[string]any{
			{"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
			{"op": "replace", "path": "/metadata/managedFields", "value": metadata["managedFields"]},
		})
	})
}
