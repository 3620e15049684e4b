package catalog

import (
	"fmt"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/spelling"
)

// anyVersion is the targetRevision of a chart that names none: the newest.
const anyVersion = "*"

// maxSources is how many sources one Application may have.
const maxSources = 16

var refName = regexp.MustCompile(`^[A-Za-z0-9]([-_A-Za-z0-9]{0,62})$`)

// readSources reads spec.sources, or spec.source where there are none, as Argo CD
// does.
func (l *loader) readSources(n *yaml.Node, one *source, many []source, out reporter) (first gitops.Source, more []gitops.Source) {
	switch {
	case len(many) > maxSources:
		out.at(near(n, "spec", "sources"), "spec.sources", "there are %d sources; %d are possible", len(many), maxSources)
		return first, nil
	case len(many) > 0:
	case one == nil:
		out.at(near(n, "spec"), "spec.source", "spec.source is missing")
		return first, nil
	default:
		return l.readSource(sourcePlace{near(n, "spec", "source"), "spec.source"}, *one, out), nil
	}
	var list []gitops.Source
	refs := map[string]bool{}
	for i, s := range many {
		p := sourcePlace{near(n, "spec", "sources"), fmt.Sprintf("spec.sources[%d]", i)}
		if items := sequence(p.node); i < len(items) {
			p.node = items[i]
		}
		read := l.readSource(p, s, out)
		if read.RefName = s.Ref; s.Ref != "" {
			if !refName.MatchString(s.Ref) || refs[s.Ref] {
				out.at(p.at("ref"), p.field+".ref", "%q is no name for a source, or two sources have it", s.Ref)
			}
			refs[s.Ref] = true
			if s.Path == "" && !l.isChart(s) {
				read.Path = "" // only its files count
			}
		}
		list = append(list, read)
	}
	checkRefs(n, list, out)
	i := slices.IndexFunc(list, gitops.Source.IsRendered)
	if i < 0 {
		out.at(near(n, "spec", "sources"), "spec.sources", "no source has manifests; give one a path or a chart")
		return first, nil
	}
	return list[i], slices.Delete(slices.Clone(list), i, i+1)
}

// checkRefs refuses files of sources that are not there.
func checkRefs(n *yaml.Node, list []gitops.Source, out reporter) {
	var names []string
	for _, s := range list {
		if s.RefName != "" {
			names = append(names, s.RefName)
		}
	}
	for i, s := range list {
		if s.Helm == nil {
			continue
		}
		for _, file := range s.Helm.Files() {
			name, isRef := gitops.RefOf(file)
			if !isRef || slices.Contains(names, name) {
				continue
			}
			field := fmt.Sprintf("spec.sources[%d].helm", i)
			out.at(near(n, "spec", "sources"), field, "%s names a file of $%s, but no source has that ref%s", file, name, spelling.Hint(name, names))
		}
	}
}
