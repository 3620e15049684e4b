package catalog

import (
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/gitops"
)

// generation is what generators need to know.
type generation struct {
	fleet      *fleet
	render     templater
	goTemplate bool
}

// generator is one item of spec.generators.
type generator struct {
	List *struct {
		Elements yaml.Node `yaml:"elements"`
	} `yaml:"list"`
	Clusters *struct {
		Selector selector          `yaml:"selector"`
		Values   map[string]string `yaml:"values"`
	} `yaml:"clusters"`
	Selector selector `yaml:"selector"`
}

// generate returns one set of parameters for every Application to make.
func (g generator) generate(n *yaml.Node, in generation, path string, out reporter) []map[string]any {
	before := out.count()
	hasList, hasClusters := get(n, "list") != nil, get(n, "clusters") != nil
	var all []map[string]any
	switch {
	case hasList == hasClusters:
		out.at(n, path, "a generator must be one of list and clusters")
	case hasList:
		all = listParameters(get(n, "list", "elements"), in, path+".list.elements", out)
	default:
		all = g.clusterParameters(n, in, path+".clusters", out)
	}
	g.Selector.check(near(n, "selector"), path+".selector", out)
	if out.count() > before {
		return nil
	}
	return slices.DeleteFunc(all, func(params map[string]any) bool { return !g.Selector.matches(flatten(params)) })
}

// listParameters takes the elements as they are. Without goTemplate each value
// must be a string, as in Argo CD; those below values are called values.x.
func listParameters(n *yaml.Node, in generation, path string, out reporter) []map[string]any {
	if !isNull(n) && n.Kind != yaml.SequenceNode {
		out.at(n, path, "%s must be a list", path)
	}
	var all []map[string]any
	for i, element := range sequence(n) {
		field := fmt.Sprintf("%s[%d]", path, i)
		params := map[string]any{}
		if element.Kind != yaml.MappingNode {
			out.at(element, field, "%s must be a mapping of parameters", field)
			continue
		}
		if !decodeInto(element, &params, out) {
			continue
		}
		if !in.goTemplate {
			for key, value := range pairs(element) {
				wrong := checkString(value)
				if key.Value == "values" {
					wrong = checkMap(value)
				}
				if wrong != "" {
					out.at(value, field+"."+key.Value, "%s.%s %s, unless goTemplate is true", field, key.Value, wrong)
				}
			}
			params = widen(flatten(params))
		}
		all = append(all, params)
	}
	return all
}

// clusterParameters describes each selected region, in the order of names.
func (g generator) clusterParameters(n *yaml.Node, in generation, path string, out reporter) []map[string]any {
	var spec struct {
		selector selector
		values   map[string]string
	}
	if g.Clusters != nil {
		spec.selector, spec.values = g.Clusters.Selector, g.Clusters.Values
	}
	spec.selector.check(near(n, "clusters", "selector"), path+".selector", out)
	var all []map[string]any
	for _, r := range in.fleet.regions {
		if !spec.selector.matches(selectionLabels(r)) {
			continue
		}
		params := regionParameters(r)
		if !in.goTemplate {
			params = widen(flatten(params))
		}
		values := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(spec.values)) {
			rendered, err := in.render(spec.values[key], params)
			if err != nil {
				out.at(near(n, "clusters", "values", key), path+".values."+key, "%s", err)
			}
			values[key] = rendered
		}
		if in.goTemplate {
			params["values"] = values
		} else {
			maps.Copy(params, widen(flatten(map[string]any{"values": values})))
		}
		all = append(all, params)
	}
	return all
}

func regionParameters(r gitops.Region) map[string]any {
	labels := map[string]any{}
	for key, value := range r.Labels {
		labels[key] = value
	}
	return map[string]any{
		"name": r.Name, "nameNormalized": normalize(r.Name), "server": server(r), "project": "",
		"metadata": map[string]any{"labels": labels, "annotations": map[string]any{}},
	}
}
