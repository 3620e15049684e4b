package main

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/render"
)

// remoteForm matches what Kustomize would fetch from elsewhere.
var remoteForm = regexp.MustCompile(`^[a-z+]+://|^git@|^[\w.-]+\.[a-z]{2,}/\S+/|\?ref=|\.git(//|\?|$)`)

// refuseRemote looks for bases and resources that are not in the repository, in a
// kustomization and those that it refers to. A render has no network.
func refuseRemote(t *tree, file string, seen map[string]bool) error {
	if seen[file] {
		return nil
	}
	seen[file] = true
	text, err := t.read(file)
	if err != nil {
		return nil //nolint:nilerr // Kustomize says what is wrong with it
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil || len(document.Content) == 0 {
		return nil //nolint:nilerr // Kustomize says what is wrong with it
	}
	for _, entry := range references(document.Content[0]) {
		if remoteForm.MatchString(entry.Value) && !t.isFile(join(folderOf(file), entry.Value)) {
			return &render.Error{Kind: render.KindRemote, File: file, Line: entry.Line, Message: fmt.Sprintf(
				"%s is not in this repository, and a render has no network; copy it into the repository and refer to it by its path", entry.Value)}
		}
		if next, ok := t.kustomization(join(folderOf(file), entry.Value)); ok {
			if err := refuseRemote(t, next, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

func folderOf(file string) string {
	if i := strings.LastIndex(file, "/"); i >= 0 {
		return file[:i]
	}
	return "."
}

// references are the entries of the lists that name other files and folders.
func references(kustomization *yaml.Node) []*yaml.Node {
	var entries []*yaml.Node
	if kustomization.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(kustomization.Content); i += 2 {
		switch kustomization.Content[i].Value {
		case "resources", "bases", "components", "crds", "generators", "transformers":
			for _, entry := range kustomization.Content[i+1].Content {
				if entry.Kind == yaml.ScalarNode && !strings.Contains(entry.Value, "\n") {
					entries = append(entries, entry)
				}
			}
		}
	}
	return entries
}
