package renderer

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// addOptions adds what an Application says about replicas, patches, components,
// labels and annotations to a kustomization.
func addOptions(t *tree, k *types.Kustomization, file string, o gitops.Kustomize) error {
	for _, r := range o.Replicas {
		k.Replicas = slices.DeleteFunc(k.Replicas, func(before types.Replica) bool { return before.Name == r.Name })
		k.Replicas = append(k.Replicas, types.Replica{Name: r.Name, Count: r.Count})
	}
	for _, p := range o.Patches {
		k.Patches = append(k.Patches, patchOf(p))
	}
	for _, component := range o.Components {
		if o.IgnoreMissingComponents && !isRemote(component) && !t.isFolder(path.Join(path.Dir(file), component)) {
			continue
		}
		if !slices.Contains(k.Components, component) {
			k.Components = append(k.Components, component)
		}
	}
	if err := addLabels(k, file, o); err != nil {
		return err
	}
	var err error
	k.CommonAnnotations, err = merged(k.CommonAnnotations, o.CommonAnnotations, o.ForceCommonAnnotations)
	if err != nil {
		return &render.Error{Kind: render.KindBuild, File: file, Message: fmt.Sprintf("kustomize.commonAnnotations: %s; set forceCommonAnnotations to replace it", err)}
	}
	return nil
}

func patchOf(p gitops.KustomizePatch) types.Patch {
	patch := types.Patch{Path: p.Path, Patch: p.Patch}
	if p.AllowNameChange || p.AllowKindChange {
		patch.Options = &types.PatchArgs{AllowNameChange: p.AllowNameChange, AllowKindChange: p.AllowKindChange}
	}
	if s := p.Target; s != nil {
		patch.Target = &types.Selector{
			ResId:         resid.ResId{Gvk: resid.Gvk{Group: s.Group, Version: s.Version, Kind: s.Kind}, Name: s.Name, Namespace: s.Namespace},
			LabelSelector: s.LabelSelector, AnnotationSelector: s.AnnotationSelector,
		}
	}
	return patch
}

// addLabels adds the common labels, to selectors and templates too unless those
// are left alone.
func addLabels(k *types.Kustomization, file string, o gitops.Kustomize) error {
	if len(o.CommonLabels) == 0 {
		return nil
	}
	if before := k.CommonLabels; len(before) > 0 { //nolint:staticcheck // kustomizations have it still
		k.Labels = append([]types.Label{{Pairs: before, IncludeSelectors: true}}, k.Labels...)
		k.CommonLabels = nil //nolint:staticcheck // likewise
	}
	for _, label := range k.Labels {
		for _, name := range slices.Sorted(maps.Keys(o.CommonLabels)) {
			if _, set := label.Pairs[name]; set && !o.ForceCommonLabels {
				return &render.Error{Kind: render.KindBuild, File: file, Message: fmt.Sprintf("kustomize.commonLabels: %s is set in the kustomization already; set forceCommonLabels to replace it", name)}
			}
			delete(label.Pairs, name)
		}
	}
	k.Labels = slices.DeleteFunc(k.Labels, func(l types.Label) bool { return len(l.Pairs) == 0 })
	k.Labels = append(k.Labels, types.Label{
		Pairs: o.CommonLabels, IncludeSelectors: !o.LabelWithoutSelector, IncludeTemplates: o.LabelWithoutSelector && o.LabelIncludeTemplates,
	})
	return nil
}

// merged has the entries of both; an entry that both have is an error unless the
// later ones may replace it.
func merged(before, added map[string]string, replace bool) (map[string]string, error) {
	if len(added) == 0 {
		return before, nil
	}
	both := maps.Clone(before)
	if both == nil {
		both = map[string]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(added)) {
		if _, set := before[name]; set && !replace {
			return nil, fmt.Errorf("%s is set in the kustomization already", name)
		}
		both[name] = added[name]
	}
	return both, nil
}
