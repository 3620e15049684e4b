package main

import (
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// withOptions returns the kustomization file as the Application's options change
// it, as `kustomize edit set` would; nil when there are none.
func withOptions(t *tree, file string, options *gitops.Kustomize) ([]byte, error) {
	if options == nil {
		return nil, nil
	}
	text, err := t.read(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var k types.Kustomization
	if err := k.Unmarshal(text); err != nil {
		return nil, &render.Error{Kind: render.KindParse, File: file, Message: err.Error()}
	}
	if options.NamePrefix != "" {
		k.NamePrefix = options.NamePrefix
	}
	if options.NameSuffix != "" {
		k.NameSuffix = options.NameSuffix
	}
	if options.Namespace != "" {
		k.Namespace = options.Namespace
	}
	for _, text := range options.Images {
		k.Images = setImage(k.Images, parseImage(text))
	}
	return yaml.Marshal(k)
}

// parseImage reads Argo CD's form of an image override: [old=]name[:tag|@digest].
func parseImage(text string) types.Image {
	old, rest, renamed := strings.Cut(text, "=")
	if !renamed {
		rest = text
	}
	name, digest, _ := strings.Cut(rest, "@")
	tag := ""
	if digest == "" {
		if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
			name, tag = name[:i], name[i+1:]
		}
	}
	image := types.Image{Name: name, NewTag: tag, Digest: digest}
	if renamed {
		image.Name, image.NewName = old, name
	}
	return image
}

// setImage replaces the override of the same name, or adds one.
func setImage(list []types.Image, image types.Image) []types.Image {
	for i := range list {
		if list[i].Name == image.Name {
			list[i] = image
			return list
		}
	}
	return append(list, image)
}
