package renderer

import (
	"bytes"
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
	if r.Made != "" {
		return madeElsewhere(r)
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

// madeElsewhere reads what a plugin has made.
func madeElsewhere(r render.Request) (render.Result, error) {
	var found objects
	result := render.Result{Renderer: render.RendererPlugin}
	if err := found.addFile(r.Made, r.Documents); err != nil {
		return result, err
	}
	if len(found.list) == 0 && len(bytes.TrimSpace(r.Documents)) > 0 {
		return result, &render.Error{Kind: render.KindParse, File: r.Made, Line: 1, Message: "it has no Kubernetes object; a plugin prints manifests and nothing else to standard output"}
	}
	return found.result(result)
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
