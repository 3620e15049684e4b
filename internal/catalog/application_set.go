package catalog

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// applicationSet is the part of Argo CD's ApplicationSet that is supported.
type applicationSet struct {
	Spec struct {
		GoTemplate        bool        `yaml:"goTemplate"`
		GoTemplateOptions []string    `yaml:"goTemplateOptions"`
		Generators        []generator `yaml:"generators"`
		SyncPolicy        struct {
			ApplicationsSync            string `yaml:"applicationsSync"`
			PreserveResourcesOnDeletion bool   `yaml:"preserveResourcesOnDeletion"`
		} `yaml:"syncPolicy"`
		Strategy struct {
			Type string `yaml:"type"`
		} `yaml:"strategy"`
	} `yaml:"spec"`
}

// readApplicationSet makes the Applications of an ApplicationSet whose fields
// are checked.
func (l *loader) readApplicationSet(d document) {
	out := d.reporter(&l.problems)
	before := out.count()
	var set applicationSet
	if !decodeInto(d.node, &set, out) {
		return
	}
	set.check(d.node, out)
	render, err := newTemplater(set.Spec.GoTemplate, set.Spec.GoTemplateOptions)
	if err != nil {
		out.at(near(d.node, "spec", "goTemplateOptions"), "spec.goTemplateOptions", "%s", err)
	}
	if out.count() > before {
		return
	}
	for i, g := range set.Spec.Generators {
		node := get(d.node, "spec", "generators").Content[i]
		for _, params := range g.generate(node, generation{l.fleet, render, set.Spec.GoTemplate}, fmt.Sprintf("spec.generators[%d]", i), out) {
			l.generateApplication(d, set, render, params)
		}
	}
}

// check refuses what the field table cannot tell.
func (s applicationSet) check(n *yaml.Node, out reporter) {
	spec := near(n, "spec")
	if get(spec, "template") == nil {
		out.at(spec, "spec.template", "spec.template is missing")
	}
	if len(s.Spec.Generators) == 0 {
		out.at(near(spec, "generators"), "spec.generators", "the ApplicationSet has no generators")
	}
	switch sync := s.Spec.SyncPolicy.ApplicationsSync; sync {
	case "", "sync":
	case "create-only", "create-update", "create-delete":
		out.at(near(spec, "syncPolicy", "applicationsSync"), "spec.syncPolicy.applicationsSync", "%s", notYet("applicationsSync: "+sync, "use sync"))
	default:
		out.at(near(spec, "syncPolicy", "applicationsSync"), "spec.syncPolicy.applicationsSync", "%q is no applicationsSync; use sync", sync)
	}
	switch kind := s.Spec.Strategy.Type; kind {
	case "", "AllAtOnce":
	case "RollingSync":
		out.at(near(spec, "strategy", "type"), "spec.strategy.type", "%s", notYet("RollingSync", "group the Applications by a Pipeline"))
	default:
		out.at(near(spec, "strategy", "type"), "spec.strategy.type", "%q is no strategy; use AllAtOnce", kind)
	}
}

// generateApplication renders the template with one set of parameters and reads
// the Application that comes out. What is wrong in it concerns it alone.
func (l *loader) generateApplication(d document, set applicationSet, render templater, params map[string]any) {
	out := d.reporter(&l.problems)
	before := out.count()
	template := get(d.node, "spec", "template")
	app := renderNode(template, "spec.template", func(s string, at *yaml.Node, field string) string {
		rendered, err := render(s, params)
		if err != nil {
			out.at(at, field, "%s", err)
		}
		return rendered
	})
	if out.count() > before {
		return
	}
	out.object = "Application/" + text(get(app, "metadata", "name"))
	checkUnresolved(app, params, out)
	if out.count() > before {
		return
	}
	c, ok := l.readApplication(app, d.name(), out)
	if !ok {
		return
	}
	if len(sequence(get(app, "metadata", "finalizers"))) == 0 {
		c.Finalizer = !set.Spec.SyncPolicy.PreserveResourcesOnDeletion // as Argo CD has it
	}
	l.candidates = append(l.candidates, c)
}
