package main

import (
	"path"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// renderRequest finds out what kind of folder it is, as Argo CD does, and
// renders it: options of one kind decide; else it is Kustomize where there is a
// kustomization, Helm where there is a chart, and plain manifests anywhere else.
func renderRequest(t *tree, r render.Request) (render.Result, error) {
	if r.Kustomize != nil && isZero(*r.Kustomize) {
		r.Kustomize = nil
	}
	if r.Directory != nil && *r.Directory == (gitops.Directory{}) {
		r.Directory = nil
	}
	folder, err := t.folder(r.Path)
	if err != nil {
		return render.Result{}, err
	}
	switch {
	case r.Kustomize != nil && r.Directory != nil:
		return render.Result{}, &render.Error{
			Kind: render.KindBuild, File: folder, Message: "the Application has options for a directory and for Kustomize; keep those of one",
		}
	case r.Directory != nil:
		return plainFolder(t, folder, *r.Directory)
	}
	if files := t.kustomizations(folder); len(files) > 0 || r.Kustomize != nil {
		return kustomizeFolder(t, folder, files, r.Kustomize)
	}
	if chart := path.Join(folder, "Chart.yaml"); t.isFile(chart) {
		return render.Result{}, &render.Error{
			Kind: render.KindUnsupported, File: chart, Message: "Helm is not supported yet; render the chart into the repository, for example with helm template",
		}
	}
	return plainFolder(t, folder, gitops.Directory{})
}

func isZero(k gitops.Kustomize) bool {
	return k.NamePrefix == "" && k.NameSuffix == "" && k.Namespace == "" && len(k.Images) == 0
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
