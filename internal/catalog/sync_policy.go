package catalog

import (
	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

// syncPolicy is the part of spec.syncPolicy that is supported.
type syncPolicy struct {
	Automated *struct {
		Enabled    *bool `yaml:"enabled"`
		Prune      bool  `yaml:"prune"`
		SelfHeal   bool  `yaml:"selfHeal"`
		AllowEmpty bool  `yaml:"allowEmpty"`
	} `yaml:"automated"`
	SyncOptions              []string `yaml:"syncOptions"`
	ManagedNamespaceMetadata struct {
		Labels      map[string]string `yaml:"labels"`
		Annotations map[string]string `yaml:"annotations"`
	} `yaml:"managedNamespaceMetadata"`
}

// read gives a sync policy its meaning. As in Argo CD, automated is on when it
// is there, even when empty, unless its enabled says false.
func (p syncPolicy) read(n *yaml.Node, out reporter) gitops.SyncPolicy {
	read := gitops.SyncPolicy{
		NamespaceLabels:      p.ManagedNamespaceMetadata.Labels,
		NamespaceAnnotations: p.ManagedNamespaceMetadata.Annotations,
	}
	if a := p.Automated; a != nil {
		read.Automated = a.Enabled == nil || *a.Enabled
		read.Prune, read.SelfHeal, read.AllowEmpty = a.Prune, a.SelfHeal, a.AllowEmpty
	}
	nodes := near(n, "syncOptions").Content
	for i, option := range p.SyncOptions {
		if err := manifest.CheckOption(option); err != nil {
			out.at(nodes[i], "spec.syncPolicy.syncOptions", "%s", err)
			continue
		}
		read.Options = append(read.Options, option)
	}
	return read
}
