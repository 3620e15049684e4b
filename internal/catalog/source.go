package catalog

import (
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/gitops"
)

// source is the part of spec.source that is supported.
type source struct {
	RepoURL        string     `yaml:"repoURL"`
	Path           string     `yaml:"path"`
	TargetRevision string     `yaml:"targetRevision"`
	Directory      *directory `yaml:"directory"`
	Kustomize      *kustomize `yaml:"kustomize"`
}

type directory struct {
	Recurse bool   `yaml:"recurse"`
	Include string `yaml:"include"`
	Exclude string `yaml:"exclude"`
}

type kustomize struct {
	NamePrefix string   `yaml:"namePrefix"`
	NameSuffix string   `yaml:"nameSuffix"`
	Images     []string `yaml:"images"`
	Namespace  string   `yaml:"namespace"`
}

// readSource says where an Application's manifests come from.
func (l *loader) readSource(n *yaml.Node, s *source, out reporter) gitops.Source {
	at := func(field string) *yaml.Node { return near(n, "spec", "source", field) }
	if s == nil {
		out.at(near(n, "spec"), "spec.source", "spec.source is missing")
		return gitops.Source{}
	}
	read := gitops.Source{RepoURL: s.RepoURL, Revision: nonEmpty(s.TargetRevision, defaultRevision)}
	if s.RepoURL == "" {
		out.at(at("repoURL"), "spec.source.repoURL", "spec.source.repoURL is missing")
	} else if identity, err := l.options.Identity(s.RepoURL); err != nil {
		out.at(at("repoURL"), "spec.source.repoURL", "%s", err)
	} else {
		read.Repository = identity
	}
	var ok bool
	if read.Path, ok = cleanPath(s.Path); !ok {
		out.at(at("path"), "spec.source.path", "%q is not a folder of the repository; write it without a leading / and without ..", s.Path)
	}
	if s.Directory != nil && s.Kustomize != nil && *s.Directory != (directory{}) && !s.Kustomize.isZero() {
		out.at(at("directory"), "spec.source", "the source has options for directory and kustomize; keep one")
	}
	if d := s.Directory; d != nil && *d != (directory{}) {
		read.Directory = (*gitops.Directory)(d)
	}
	if k := s.Kustomize; k != nil && !k.isZero() {
		read.Kustomize = (*gitops.Kustomize)(k)
	}
	return read
}

func (k kustomize) isZero() bool {
	return k.NamePrefix == "" && k.NameSuffix == "" && k.Namespace == "" && len(k.Images) == 0
}

// cleanPath is a path within a repository, in its shortest form.
func cleanPath(p string) (string, bool) {
	clean := path.Clean(nonEmpty(p, "."))
	outside := path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || strings.ContainsAny(clean, "\\\x00")
	return clean, !outside
}
