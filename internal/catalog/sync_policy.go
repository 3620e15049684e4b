package catalog

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/spelling"
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
		class, wrong := classify(option)
		if wrong != "" {
			out.at(nodes[i], "spec.syncPolicy.syncOptions", "%s", wrong)
		}
		if class == classKept {
			read.Options = append(read.Options, option)
		}
	}
	return read
}

// classify looks a sync option up; wrong says why it cannot be used.
func classify(option string) (class, wrong string) {
	name, value, _ := strings.Cut(option, "=")
	values, known := schema().SyncOptions[name]
	if !known {
		return "", "unknown sync option " + option + spelling.Hint(name, slices.Sorted(maps.Keys(schema().SyncOptions)))
	}
	class, note := splitClass(values[value])
	switch class {
	case "":
		return "", "sync option " + name + " cannot be " + quoted(value) + "; it is one of " + list(slices.Sorted(maps.Keys(values)))
	case classLater:
		return "", notYet("sync option "+option, note)
	default:
		return class, ""
	}
}

func quoted(s string) string { return `"` + s + `"` }
