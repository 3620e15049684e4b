package main

import (
	"fmt"
	"strings"
)

// work is what one push leaves in the repository.
type work struct {
	generation int    // changes every object
	image      int    // changes one Deployment
	waves      int    // over how many waves the objects are spread
	comment    string // changes a file, and nothing that is rendered
	outside    string // the content of a file that nobody reads
}

// files are the repository's files, by name.
func (w work) files(configMaps, deployments int) map[string]string {
	files := map[string]string{"README.md": "Made by bench.\n" + w.outside}
	for i := range configMaps {
		files[fmt.Sprintf("app/configmap-%03d.yaml", i)] = w.comment + w.configMap(i)
	}
	for i := range deployments {
		files[fmt.Sprintf("app/deployment-%03d.yaml", i)] = w.deployment(i)
	}
	return files
}

func (w work) wave(i int) string {
	if w.waves < 2 {
		return ""
	}
	return fmt.Sprintf("  annotations: {argocd.argoproj.io/sync-wave: %q}\n", fmt.Sprint(i%w.waves))
}

func (w work) configMap(i int) string {
	content := strings.Repeat(fmt.Sprintf("generation %d of %d; ", w.generation, i), 40)[:500]
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config-%03d\n%sdata:\n  content: %q\n", i, w.wave(i), content)
}

func (w work) deployment(i int) string {
	image := 0
	if i == 0 {
		image = w.image
	}
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-%03d
%sspec:
  replicas: 1
  selector:
    matchLabels: {app: web-%03d}
  template:
    metadata:
      labels: {app: web-%03d}
    spec:
      containers:
        - name: web
          image: registry.example/web:%d.%d
`, i, w.wave(i), i, i, w.generation, image)
}

// changed are the files that are not the same as before: what the bare loop has
// to apply. It knows that by itself; Tidegate finds it out.
func changed(before, now map[string]string) map[string]string {
	result := map[string]string{}
	for name, content := range now {
		if before[name] != content {
			result[name] = content
		}
	}
	return result
}
