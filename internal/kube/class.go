package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/client-go/restmapper"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Class asks the region once for its version and for what it serves, kinds of
// aggregated servers that are down left out.
func (r *Region) Class(ctx context.Context) (gitops.RegionClass, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	version, err := r.kinds.discovery.ServerVersionWithContext(ctx)
	if err != nil {
		return gitops.RegionClass{}, fmt.Errorf("ask region %s for its version: %w", r.settings.Name, r.typed(err))
	}
	groups, err := restmapper.GetAPIGroupResourcesWithContext(ctx, r.kinds.discovery)
	if err != nil {
		return gitops.RegionClass{}, fmt.Errorf("ask region %s what it serves: %w", r.settings.Name, r.typed(err))
	}
	served := map[string]bool{}
	for _, group := range groups {
		for _, v := range group.Group.Versions {
			served[v.GroupVersion] = true
			for _, resource := range group.VersionedResources[v.Version] {
				served[v.GroupVersion+"/"+resource.Kind] = true
			}
		}
	}
	return gitops.RegionClass{KubeVersion: version.GitVersion, APIVersions: slices.Sorted(maps.Keys(served))}, nil
}
