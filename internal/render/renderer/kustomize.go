package renderer

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// kustomizeFolder builds a kustomization with plugins, Helm and remote sources
// off, and files only from where Kustomize itself allows by default.
func kustomizeFolder(ctx context.Context, t *tree, folder string, files []string, options *gitops.Kustomize) (render.Result, error) {
	result := render.Result{Renderer: render.RendererKustomize}
	switch len(files) {
	case 0:
		return result, &render.Error{Kind: render.KindPath, File: folder, Message: "the Application has options for Kustomize, but there is no kustomization.yaml in this folder"}
	case 1:
	default:
		return result, &render.Error{Kind: render.KindBuild, File: folder, Message: "more than one kustomization in one folder: " + strings.Join(files, ", ") + "; keep one"}
	}
	if options != nil {
		options = new(copyOf(*options))
	}
	found, err := referencesOf(ctx, t, files[0], options)
	if err != nil {
		return result, err
	}
	system := filesystem{tree: t, replaced: found.changed, made: found.made}
	if options != nil {
		if system.replaced[files[0]], err = withOptions(t, files[0], found.changed[files[0]], *options); err != nil {
			return result, err
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(system, path.Join(mount, folder))
	if err != nil {
		return result, diagnose(t, files[0], found.found, err)
	}
	return collect(result, files[0], built)
}

// copyOf copies what referencesOf changes.
func copyOf(o gitops.Kustomize) gitops.Kustomize {
	o.Patches, o.Components = slices.Clone(o.Patches), slices.Clone(o.Components)
	return o
}

func collect(result render.Result, file string, built resmap.ResMap) (render.Result, error) {
	var found objects
	for _, resource := range built.Resources() {
		encoded, err := resource.MarshalJSON()
		if err != nil {
			return result, fmt.Errorf("encode %s: %w", resource.CurId(), err)
		}
		content, err := decodeJSON(encoded)
		if err != nil {
			return result, fmt.Errorf("decode %s: %w", resource.CurId(), err)
		}
		if err := found.add(place{file: file}, content); err != nil {
			return result, err
		}
	}
	return found.result(result)
}
