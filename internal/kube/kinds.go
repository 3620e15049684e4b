package kube

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

var (
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	getOptions  = metav1.GetOptions{}
	ourSelector = manifest.LabelManaged + "=true"
)

// kinds knows what a region serves. It asks when it meets a kind that it does
// not know.
type kinds struct {
	discovery discovery.DiscoveryInterfaceWithContext
	mu        sync.Mutex
	mapper    meta.RESTMapper
}

// resource is where objects of one kind are found.
type resource struct {
	schema.GroupVersionResource
	namespaced bool
}

// resourceOf finds the resource of a kind; manifest.ErrUnknownKind when the
// region does not serve it.
func (r *Region) resourceOf(ctx context.Context, gvk schema.GroupVersionKind) (resource, error) {
	r.kinds.mu.Lock()
	defer r.kinds.mu.Unlock()
	if r.kinds.mapper != nil {
		if res, err := lookUp(r.kinds.mapper, gvk); err == nil {
			return res, nil
		}
	}
	err := r.try(ctx, func(ctx context.Context) error {
		// What aggregated servers that are down do not tell is left out: only objects
		// of theirs meet an unknown kind.
		groups, err := restmapper.GetAPIGroupResourcesWithContext(ctx, r.kinds.discovery)
		if err == nil {
			r.kinds.mapper = restmapper.NewDiscoveryRESTMapper(groups)
		}
		return err
	})
	if err != nil {
		return resource{}, fmt.Errorf("ask region %s what it serves: %w", r.settings.Name, err)
	}
	return lookUp(r.kinds.mapper, gvk)
}

// forget makes the next question go to the region: what it serves has changed.
func (k *kinds) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mapper = nil
}

func lookUp(mapper meta.RESTMapper, gvk schema.GroupVersionKind) (resource, error) {
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return resource{}, fmt.Errorf("%w: %s of %s", manifest.ErrUnknownKind, gvk.Kind, gvk.GroupVersion())
	}
	return resource{mapping.Resource, mapping.Scope.Name() == meta.RESTScopeNameNamespace}, nil
}

// resourceFor finds the resource of an object, in the API version it was written in.
func (r *Region) resourceFor(ctx context.Context, key gitops.ObjectKey, apiVersion string) (resource, error) {
	return r.resourceOf(ctx, schema.FromAPIVersionAndKind(apiVersion, key.Kind))
}

// path is the URL path of a resource in a namespace, or of one object of it.
func (res resource) path(namespace, name string) []string {
	segments := []string{"/apis", res.Group, res.Version}
	if res.Group == "" {
		segments = []string{"/api", res.Version}
	}
	if namespace != "" {
		segments = append(segments, "namespaces", namespace)
	}
	segments = append(segments, res.Resource)
	if name != "" {
		segments = append(segments, name)
	}
	return segments
}
