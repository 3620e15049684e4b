package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/spelling"
)

// Labels that every region has, for selectors only.
const (
	labelRegion     = "tidegate.dev/region"            // its name
	labelSecretType = "argocd.argoproj.io/secret-type" //nolint:gosec // a label's name: "cluster", as Argo CD's cluster secrets have it
)

// fleet is the regions of the settings, with what the catalog adds to them.
type fleet struct {
	regions []gitops.Region // sorted by name
}

func newFleet(regions []gitops.Region) *fleet {
	f := &fleet{}
	for _, r := range regions {
		r.Labels, r.Aliases = maps.Clone(r.Labels), slices.Clone(r.Aliases)
		f.regions = append(f.regions, r)
	}
	slices.SortFunc(f.regions, func(a, b gitops.Region) int { return strings.Compare(a.Name, b.Name) })
	return f
}

func (f *fleet) names() []string {
	names := make([]string, 0, len(f.regions))
	for _, r := range f.regions {
		names = append(names, r.Name)
	}
	return names
}

func (f *fleet) get(name string) *gitops.Region {
	for i := range f.regions {
		if f.regions[i].Name == name {
			return &f.regions[i]
		}
	}
	return nil
}

// find returns the region that a destination means by a name or server. The
// error says which regions there are.
func (f *fleet) find(called string) (gitops.Region, error) {
	var found []gitops.Region
	for _, r := range f.regions {
		if answersTo(r, called) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return gitops.Region{}, fmt.Errorf("no region is called %s%s (known: %s)", called, spelling.Hint(called, f.names()), list(f.names()))
	default:
		return gitops.Region{}, fmt.Errorf("regions %s and %s are both called %s; give the name to one of them", found[0].Name, found[1].Name, called)
	}
}

func answersTo(r gitops.Region, called string) bool {
	same := func(name string) bool {
		return name != "" && strings.TrimRight(name, "/") == strings.TrimRight(called, "/")
	}
	return same(r.Name) || same(r.Server) || slices.ContainsFunc(r.Aliases, same)
}

// server is the address that a template may name a region by: its own, an alias
// that is one, or else its name, which destinations accept as well.
func server(r gitops.Region) string {
	if r.Server != "" {
		return r.Server
	}
	for _, alias := range r.Aliases {
		if strings.Contains(alias, "://") {
			return alias
		}
	}
	return r.Name
}

// selectionLabels are a region's labels as selectors see them.
func selectionLabels(r gitops.Region) map[string]string {
	labels := map[string]string{labelRegion: r.Name, labelSecretType: "cluster"}
	maps.Copy(labels, r.Labels)
	return labels
}

// regionSpec is the part of a Region document that is read.
type regionSpec struct {
	Metadata struct {
		Labels map[string]string `yaml:"labels"`
	} `yaml:"metadata"`
	Spec struct {
		Aliases []string `yaml:"aliases"`
	} `yaml:"spec"`
}

// add gives a region what a Region document says of it.
func (f *fleet) add(d document, out reporter) {
	r := f.get(d.name())
	if r == nil {
		out.at(near(d.node, "metadata", "name"), "metadata.name", "the settings have no region %s%s (known: %s); only a worker's settings can add one", d.name(), spelling.Hint(d.name(), f.names()), list(f.names()))
		return
	}
	var spec regionSpec
	if !decodeInto(d.node, &spec, out) {
		return
	}
	for _, label := range slices.Sorted(maps.Keys(spec.Metadata.Labels)) {
		value := spec.Metadata.Labels[label]
		if set, ok := r.Labels[label]; ok && set != value {
			out.at(near(d.node, "metadata", "labels", label), "metadata.labels", "label %s is %s here and %s in the settings; remove one", label, value, set)
			continue
		}
		if r.Labels == nil {
			r.Labels = map[string]string{}
		}
		r.Labels[label] = value
	}
	for _, alias := range spec.Spec.Aliases {
		owner, err := f.find(alias)
		switch {
		case alias == "":
			out.at(near(d.node, "spec", "aliases"), "spec.aliases", "an alias is empty; remove it")
		case err == nil && owner.Name != r.Name:
			out.at(near(d.node, "spec", "aliases"), "spec.aliases", "regions %s and %s are both called %s; a name belongs to one region", owner.Name, r.Name, alias)
		case err != nil:
			r.Aliases = append(r.Aliases, alias)
		}
	}
}
