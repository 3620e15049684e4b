package kube

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

// seen remembers the owned fields' digest of objects whose resourceVersion moved
// without our doing, by what identifies a version of an object exactly: so that
// the next plan need not read it again.
type seen struct {
	mu     sync.Mutex
	digest map[version]string
}

type version struct{ uid, resourceVersion string }

// maxSeen bounds what is remembered; it is all forgotten then.
const maxSeen = 100_000

func (s *seen) get(uid, resourceVersion string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	digest, ok := s.digest[version{uid, resourceVersion}]
	return digest, ok
}

func (s *seen) put(uid, resourceVersion, digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.digest == nil || len(s.digest) >= maxSeen {
		s.digest = map[version]string{}
	}
	s.digest[version{uid, resourceVersion}] = digest
}

// recall fills in an object's owned digest from memory.
func (v *view) recall(key gitops.ObjectKey) bool {
	live := v.live[key]
	digest, ok := v.region.seen.get(live.UID, live.ResourceVersion)
	if ok {
		live.Owned = digest
		v.live[key] = live
	}
	return ok
}

// look reads whole objects of one place and digests what we own of them.
func (v *view) look(ctx context.Context, p place, keys []gitops.ObjectKey) error {
	if len(keys) < listFrom {
		for _, key := range keys {
			object, err := v.region.get(ctx, p.resource, key.Namespace, key.Name)
			if apierrors.IsNotFound(err) && !isUnserved(err) {
				v.forget(key)
				continue
			}
			if err != nil {
				return err
			}
			if err := v.digestOwned(ctx, key, object); err != nil {
				return err
			}
		}
		return nil
	}
	items, err := v.region.list(ctx, p.resource, p.namespace)
	if err != nil {
		return err
	}
	byName := make(map[string]map[string]any, len(items))
	for _, item := range items {
		byName[manifest.KeyOf(item).Name] = item
	}
	for _, key := range keys {
		object, ok := byName[key.Name]
		if !ok {
			v.forget(key) // deleted in between
			continue
		}
		if err := v.digestOwned(ctx, key, object); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) forget(key gitops.ObjectKey) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.live, key)
}

// digestOwned replaces what is known of a live object by what it is now.
func (v *view) digestOwned(ctx context.Context, key gitops.ObjectKey, object map[string]any) error {
	id := identify(object)
	v.mu.Lock()
	seen := v.live[key]
	v.mu.Unlock()
	live := diff.Live{UID: id.uid, ResourceVersion: id.resourceVersion, Generation: id.generation, Annotations: id.annotations, Labels: seen.Labels, Controller: seen.Controller}
	object, err := without(ctx, object, v.ignored[key])
	if err != nil {
		return err
	}
	sum, err := v.region.owned(object, v.projected[key])
	if live.OwnedUnknown = err != nil; err == nil {
		live.Owned = v.mac("owned", sum[:])
		v.region.seen.put(live.UID, live.ResourceVersion, live.Owned)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.live[key] = live
	return nil
}

// owned digests what we own of an object: by what the server has noted, or of what
// is desired when that is given. Any error means: apply again.
func (r *Region) owned(object, desired map[string]any) (diff.Sum, error) {
	d := r.digesters.Get().(*diff.Digester)
	defer r.digesters.Put(d)
	if desired != nil {
		return d.Projected(desired, object), nil
	}
	return d.Owned(object)
}

// identity is what a server says of which object this is.
type identity struct {
	uid, resourceVersion string
	generation           int64
	annotations          map[string]string
}

func identify(object map[string]any) identity {
	metadata, _ := object["metadata"].(map[string]any)
	id := identity{annotations: map[string]string{}}
	id.uid, _ = metadata["uid"].(string)
	id.resourceVersion, _ = metadata["resourceVersion"].(string)
	id.generation, _ = metadata["generation"].(int64)
	annotations, _ := metadata["annotations"].(map[string]any)
	for k, v := range annotations {
		id.annotations[k], _ = v.(string)
	}
	return id
}
