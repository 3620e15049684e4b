package renderer

import (
	"context"
	"path"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// renderRequest finds out what kind of folder it is, as Argo CD does, and
// renders it: options of one kind decide; else it is Kustomize where there is a
// kustomization, Helm where there is a chart, and plain manifests anywhere else.
func renderRequest(ctx context.Context, t *tree, r render.Request) (render.Result, error) {
	if r.Kustomize != nil && r.Kustomize.IsZero() {
		r.Kustomize = nil
	}
	if r.Directory != nil && *r.Directory == (gitops.Directory{}) {
		r.Directory = nil
	}
	if r.Helm != nil && r.Helm.IsZero() {
		r.Helm = nil
	}
	folder, err := t.folder(r.Path)
	if err != nil {
		return render.Result{}, err
	}
	if kinds := optionsOf(r); len(kinds) > 1 {
		return render.Result{}, &render.Error{
			Kind: render.KindBuild, File: folder, Message: "the Application has options for " + strings.Join(kinds, " and for ") + "; keep those of one",
		}
	}
	switch {
	case r.Directory != nil:
		return plainFolder(t, folder, *r.Directory)
	case r.Helm != nil:
		return chartFolder(ctx, t, folder, *r.Helm, r.Release)
	}
	if files := t.kustomizations(folder); len(files) > 0 || r.Kustomize != nil {
		return kustomizeFolder(ctx, t, folder, files, r.Kustomize)
	}
	if t.isFile(path.Join(folder, chartFile)) {
		return chartFolder(ctx, t, folder, gitops.Helm{}, r.Release)
	}
	return plainFolder(t, folder, gitops.Directory{})
}

// optionsOf names the kinds of options that a request has.
func optionsOf(r render.Request) (kinds []string) {
	if r.Directory != nil {
		kinds = append(kinds, "a directory")
	}
	if r.Helm != nil {
		kinds = append(kinds, "Helm")
	}
	if r.Kustomize != nil {
		kinds = append(kinds, "Kustomize")
	}
	return kinds
}

// kustomizationNames are what Kustomize looks for.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// kustomizations returns the files that make a folder a Kustomize one.
func (t *tree) kustomizations(folder string) []string {
	var files []string
	for _, name := range kustomizationNames {
		if file := path.Join(folder, name); t.isFile(file) {
			files = append(files, file)
		}
	}
	return files
}
