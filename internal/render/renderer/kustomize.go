package main

import (
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// kustomizeFolder builds a kustomization. What it reads is recorded, paths that
// are not there included.
func kustomizeFolder(t *tree, folder, file string, options *gitops.Kustomize) (render.Result, error) {
	result := render.Result{Renderer: render.RendererKustomize}
	changed, err := withOptions(t, file, options)
	if err != nil {
		return result, err
	}
	if err := refuseRemote(t, file, map[string]bool{}); err != nil {
		return result, err
	}
	recorded := &recorder{FileSystem: filesys.MakeFsOnDisk(), tree: t.dir, reads: map[string]bool{}, replaced: map[string][]byte{join(t.dir, file): changed}}
	build := krusty.MakeDefaultOptions()
	build.LoadRestrictions = types.LoadRestrictionsRootOnly
	build.PluginConfig = types.DisabledPluginConfig()
	built, err := krusty.MakeKustomizer(build).Run(recorded, join(t.dir, folder))
	result.Reads = recorded.paths()
	if err != nil {
		return result, &render.Error{Kind: render.KindBuild, File: file, Message: t.shorten(err.Error())}
	}
	var found objects
	for _, resource := range built.Resources() {
		content, err := resource.Map()
		if err != nil {
			return result, &render.Error{Kind: render.KindBuild, File: file, Message: err.Error()}
		}
		if err := found.add(file, 0, content); err != nil {
			return result, err
		}
	}
	return found.result(result)
}

// shorten takes this machine's folders out of a message.
func (t *tree) shorten(message string) string {
	message = strings.ReplaceAll(message, t.dir+"/", "")
	return strings.ReplaceAll(message, t.dir, ".")
}
