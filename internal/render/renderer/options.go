package renderer

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// withOptions returns a kustomization as an Application's options change it, in
// the way of `kustomize edit set`, which Argo CD runs.
// The text is the file's own when there is none.
func withOptions(t *tree, file string, text []byte, options gitops.Kustomize) ([]byte, error) {
	if text == nil {
		var err error
		if text, err = t.read(file); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
	}
	var k types.Kustomization
	if err := k.Unmarshal(text); err != nil {
		line, message := explainYAML(strings.TrimPrefix(err.Error(), "invalid Kustomization: "))
		return nil, &render.Error{Kind: render.KindParse, File: file, Line: line, Message: message}
	}
	k.FixKustomization()
	k.NamePrefix = orElse(options.NamePrefix, k.NamePrefix)
	k.NameSuffix = orElse(options.NameSuffix, k.NameSuffix)
	k.Namespace = orElse(options.Namespace, k.Namespace)
	for _, text := range options.Images {
		image, err := parseImage(text)
		if err != nil {
			return nil, &render.Error{Kind: render.KindBuild, File: file, Message: err.Error()}
		}
		k.Images = setImage(k.Images, image)
	}
	if err := addOptions(t, &k, file, options); err != nil {
		return nil, err
	}
	encoded, err := yaml.Marshal(k)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", file, err)
	}
	return encoded, nil
}

func orElse(value, other string) string {
	if value == "" {
		return other
	}
	return value
}

// parseImage reads Argo CD's form of an image override: [old=]name[:tag|@digest].
func parseImage(text string) (types.Image, error) {
	old, rest, renamed := strings.Cut(text, "=")
	if !renamed {
		old, rest = "", text
	}
	name, digest, _ := strings.Cut(rest, "@")
	tag := ""
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		name, tag = name[:i], name[i+1:]
	}
	image := types.Image{Name: name, NewTag: tag, Digest: digest}
	if renamed {
		image.Name, image.NewName = old, name
	}
	if image.Name == "" || (image.NewName == "" && tag == "" && digest == "") {
		return image, fmt.Errorf("kustomize.images: %q is not of the form [old=]image[:tag|@digest]", text)
	}
	return image, nil
}

// setImage replaces the override of an image, or adds one. A * keeps what the
// override had before.
func setImage(list []types.Image, image types.Image) []types.Image {
	i := slices.IndexFunc(list, func(other types.Image) bool { return other.Name == image.Name })
	var before types.Image
	if i >= 0 {
		before = list[i]
	}
	keep(&image.NewName, before.NewName)
	keep(&image.NewTag, before.NewTag)
	keep(&image.Digest, before.Digest)
	if i >= 0 {
		list[i] = image
		return list
	}
	return append(list, image)
}

func keep(value *string, before string) {
	if *value == "*" {
		*value = before
	}
}
