package renderer

import (
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Warm is Prepare for a process that waits for its request: it does beforehand
// what the libraries would do during their first build.
func Warm() {
	Prepare()
	system := filesys.MakeFsInMemory()
	for name, content := range map[string]string{
		"/kustomization.yaml": "resources: [a.yaml]\nnamePrefix: a-\nlabels: [{pairs: {a: b}, includeSelectors: true}]\nimages: [{name: a, newTag: b}]\n",
		"/a.yaml":             "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: a, image: a}]}}}\n",
	} {
		if system.WriteFile(name, []byte(content)) != nil {
			return
		}
	}
	// What it builds is nobody's, and a build that counts says itself what is wrong.
	_, _ = krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(system, "/")
}
