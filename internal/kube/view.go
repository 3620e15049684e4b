package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sync/errgroup"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/health"
	"github.com/tidegate/tidegate/internal/manifest"
)

const (
	// listFrom is how many objects of one kind in one namespace are worth a list;
	// fewer are read one by one.
	listFrom = 4
	// readsInFlight bounds the requests that one plan makes at the same time.
	readsInFlight = 8
)

// view is what a plan sees of its target: what is wanted, what is recorded, what
// is there.
type view struct {
	region  *Region
	mac     manifest.MAC
	wanted  []desired
	hooks   []hook
	options manifest.Options // of the target
	rules   health.Rules
	// projected are the desired contents of those that are not applied by the server.
	projected map[gitops.ObjectKey]map[string]any
	records   map[gitops.ObjectKey]diff.Record
	// ignore are the fields that are left to others, ignored those of single objects.
	ignore    diff.Ignore
	ignored   map[gitops.ObjectKey]diff.Ignored
	inventory *Inventory
	// siblings are what other targets of the release declare.
	siblings map[string]map[gitops.ObjectKey]bool
	// runsHooks says that this bundle was not delivered to its end yet.
	runsHooks bool
	deletes   bool // the target itself goes
	// wantsNothing says that the bundle is empty.
	wantsNothing bool

	mu   sync.Mutex
	live map[gitops.ObjectKey]diff.Live
}

// newView sees nothing yet.
func (r *Region) newView(in PlanInput, inv *Inventory, hooks []hook) *view {
	return &view{
		region: r, mac: in.MAC, inventory: inv, hooks: hooks, records: recordsBut(inv, hooks),
		live: map[gitops.ObjectKey]diff.Live{}, projected: map[gitops.ObjectKey]map[string]any{}, ignored: map[gitops.ObjectKey]diff.Ignored{},
	}
}

// place is one kind in one namespace, which is what one list reads.
type place struct {
	resource
	kind      string
	namespace string
}

// read fills in the metadata of all objects that exist, of those wanted or
// recorded: by lists of what is ours, then by looking for what these did not show
// and may exist all the same, unmanaged.
func (v *view) read(ctx context.Context) error {
	ours, err := v.places(ctx, func(key gitops.ObjectKey) bool { _, ok := v.records[key]; return ok })
	if err != nil {
		return err
	}
	if err := v.each(ctx, ours, func(ctx context.Context, p place, keys []gitops.ObjectKey) error {
		return v.list(ctx, p, keys, ourSelector)
	}); err != nil {
		return err
	}
	missing, err := v.places(ctx, func(key gitops.ObjectKey) bool { _, ok := v.live[key]; return !ok })
	if err != nil {
		return err
	}
	if err := v.dropAbsentNamespaces(ctx, missing); err != nil {
		return err
	}
	return v.each(ctx, missing, v.find)
}

// places groups the wanted and recorded objects that match by where they are.
// What is of a kind that the region does not serve is nowhere.
func (v *view) places(ctx context.Context, match func(gitops.ObjectKey) bool) (map[place][]gitops.ObjectKey, error) {
	places := map[place][]gitops.ObjectKey{}
	add := func(key gitops.ObjectKey, apiVersion string) error {
		if !match(key) || apiVersion == "" {
			return nil
		}
		res, err := v.region.resourceFor(ctx, key, apiVersion)
		if errors.Is(err, manifest.ErrUnknownKind) {
			return nil
		}
		p := place{res, key.Kind, key.Namespace}
		places[p] = append(places[p], key)
		return err
	}
	wanted := make(map[gitops.ObjectKey]bool, len(v.wanted))
	for _, d := range v.wanted {
		wanted[d.Key] = true
		if err := add(d.Key, d.APIVersion); err != nil {
			return nil, err
		}
	}
	for key, rec := range v.records {
		if wanted[key] {
			continue
		}
		if err := add(key, rec.APIVersion); err != nil {
			return nil, err
		}
	}
	return places, nil
}

// each calls do for every place, some at the same time.
func (v *view) each(ctx context.Context, places map[place][]gitops.ObjectKey, do func(context.Context, place, []gitops.ObjectKey) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsInFlight)
	for p, keys := range places {
		group.Go(func() error {
			err := do(ctx, p, keys)
			if isUnserved(err) {
				v.region.kinds.forget()
			}
			if err != nil {
				return fmt.Errorf("read %s in namespace %q: %w", p.Resource, p.namespace, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// list reads the metadata of a place and keeps that of the given objects.
func (v *view) list(ctx context.Context, p place, keys []gitops.ObjectKey, selector string) error {
	list, err := v.region.listMetadata(ctx, p.resource, p.namespace, selector)
	if err != nil {
		return err
	}
	byName := make(map[string]gitops.ObjectKey, len(keys))
	for _, key := range keys {
		byName[key.Name] = key
	}
	for i := range list.Items {
		if key, ok := byName[list.Items[i].Name]; ok {
			v.keep(key, &list.Items[i])
		}
	}
	return nil
}

func (v *view) keep(key gitops.ObjectKey, m *metav1.PartialObjectMetadata) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.live[key] = diff.Live{
		UID: string(m.UID), ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		Annotations: m.Annotations, Labels: m.Labels, Controller: controllerOf(m),
	}
}

func controllerOf(m *metav1.PartialObjectMetadata) string {
	if owner := metav1.GetControllerOf(m); owner != nil {
		return owner.Kind + " " + owner.Name
	}
	return ""
}

// find looks for objects that exist without our label.
func (v *view) find(ctx context.Context, p place, keys []gitops.ObjectKey) error {
	if len(keys) >= listFrom {
		return v.list(ctx, p, keys, "")
	}
	for _, key := range keys {
		m, err := v.region.getMetadata(ctx, p.resource, key.Namespace, key.Name)
		if apierrors.IsNotFound(err) && !isUnserved(err) {
			continue
		}
		if err != nil {
			return err
		}
		v.keep(key, m)
	}
	return nil
}

// dropAbsentNamespaces leaves out what is in namespaces that do not exist.
func (v *view) dropAbsentNamespaces(ctx context.Context, places map[place][]gitops.ObjectKey) error {
	absent := map[string]bool{}
	for key := range v.live {
		absent[key.Namespace] = false // something is in it
	}
	for p := range places {
		if _, known := absent[p.namespace]; known || p.namespace == "" {
			continue
		}
		_, err := v.region.getMetadata(ctx, resource{namespaces, false}, "", p.namespace)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("look for namespace %s: %w", p.namespace, err)
		}
		absent[p.namespace] = err != nil
	}
	for p := range places {
		if absent[p.namespace] && p.namespace != "" {
			delete(places, p)
		}
	}
	return nil
}

// compare judges every object, reading whole those whose resourceVersion has
// moved.
func (v *view) compare(ctx context.Context, t gitops.Target) ([]diff.Verdict, error) {
	c := diff.Comparison{
		Target: t.Name, Records: v.records, Live: v.live,
		NoPrune: !t.SyncPolicy.Prune, Delete: v.deletes, Options: v.options, Adopt: t.Adopt, RenamedFrom: t.RenamedFrom, Siblings: v.siblings,
	}
	for _, d := range v.wanted {
		if !d.shared {
			c.Desired = append(c.Desired, diff.Desired{Key: d.Key, Digest: d.digest, Adopt: d.Options.Adopt})
			continue
		}
		c.Desired = append(c.Desired, diff.Desired{Key: d.Key, Shared: true, Labels: t.SyncPolicy.NamespaceLabels, Annotations: t.SyncPolicy.NamespaceAnnotations})
	}
	for _, d := range v.wanted {
		if mannerOf(d.Options).projects() {
			v.projected[d.Key] = d.Content
		}
	}
	verdicts := diff.Compare(c)
	moved := map[gitops.ObjectKey]bool{}
	for _, verdict := range verdicts {
		if verdict.Action == diff.Look && !v.recall(verdict.Key) {
			moved[verdict.Key] = true
		}
	}
	if len(moved) > 0 {
		places, err := v.places(ctx, func(key gitops.ObjectKey) bool { return moved[key] })
		if err != nil {
			return nil, err
		}
		if err := v.each(ctx, places, v.look); err != nil {
			return nil, err
		}
	}
	return diff.Compare(c), nil
}
