package catalog

import (
	"slices"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/spelling"
)

// pipelineSpec is the spec of a Pipeline document.
type pipelineSpec struct {
	Project        string      `yaml:"project"`
	ApplicationSet string      `yaml:"applicationSet"`
	Selector       *selector   `yaml:"selector"`
	Stages         []stageSpec `yaml:"stages"`
}

type stageSpec struct {
	Name     string     `yaml:"name"`
	Selector selector   `yaml:"selector"`
	Gates    []gateSpec `yaml:"gates"`

	strategySpec `yaml:",inline"`
}

type gateSpec struct {
	Name     string `yaml:"name"`
	Deadline string `yaml:"deadline"`
	Approval struct {
		Count   int    `yaml:"count"`
		Expires string `yaml:"expires"`
	} `yaml:"approval"`
	Window *struct {
		Allow []windowSpec `yaml:"allow"`
		Deny  []windowSpec `yaml:"deny"`
	} `yaml:"window"`
}

type windowSpec struct {
	Schedule string `yaml:"schedule"`
	Duration string `yaml:"duration"`
	TimeZone string `yaml:"timeZone"`
}

// pipeline is a Pipeline document. A broken one still claims its targets, so
// that nothing gets past its gates.
type pipeline struct {
	document
	pipelineSpec
	broken bool
	// lost says that there is no such ApplicationSet: any other may be meant.
	lost bool
}

func (p *pipeline) selects(c candidate) bool {
	return (p.ApplicationSet == "" || p.ApplicationSet == c.set || p.lost && c.set != "") && (p.Selector == nil || p.Selector.matches(c.Labels))
}

// readPipeline reads a Pipeline whose fields are checked.
func (l *loader) readPipeline(d document) {
	out := d.reporter(&l.problems)
	before := out.count()
	p := &pipeline{document: d}
	spec := get(d.node, "spec")
	if spec == nil || !decodeInto(spec, &p.pipelineSpec, out) {
		out.at(d.node, "spec", "spec is missing")
		l.holdAll = true
		return
	}
	if p.ApplicationSet == "" && p.Selector == nil {
		out.at(spec, "spec", "the Pipeline selects nothing; give applicationSet or selector")
		l.holdAll = true
		return
	}
	if p.Selector != nil {
		p.Selector.check(get(spec, "selector"), "spec.selector", out)
	}
	if p.ApplicationSet != "" && !slices.Contains(l.sets, p.ApplicationSet) {
		p.lost = true
		out.at(near(spec, "applicationSet"), "spec.applicationSet", "there is no ApplicationSet %s%s (known: %s)", p.ApplicationSet, spelling.Hint(p.ApplicationSet, l.sets), list(l.sets))
	}
	p.checkStages(near(spec, "stages"), out)
	p.broken = out.count() > before
	l.pipelines = append(l.pipelines, p)
}

// holdPipeline keeps back what a refused Pipeline may select. Documents of other
// kinds hold nothing back.
func (l *loader) holdPipeline(d document) {
	if d.kind() != kindPipeline {
		return
	}
	p := &pipeline{document: d, broken: true}
	var s selector
	spec := get(d.node, "spec")
	if n := get(spec, "selector"); n != nil && n.Decode(&s) == nil {
		p.Selector = &s
	}
	p.ApplicationSet = text(get(spec, "applicationSet"))
	p.lost = !slices.Contains(l.sets, p.ApplicationSet)
	if p.Selector == nil && p.ApplicationSet == "" || !p.selectionIsSound() {
		l.holdAll = true
		return
	}
	l.pipelines = append(l.pipelines, p)
}

// selectionIsSound says whether the selection of a refused Pipeline can be
// trusted: no field of it is misspelled, and none is missing.
func (p *pipeline) selectionIsSound() bool {
	var found []gitops.Problem
	rules := schema().Kinds[kindPipeline].fields["spec"].fields
	out := reporter{problems: &found}
	for key, value := range pairs(get(p.node, "spec")) {
		r, known := rules[key.Value]
		if !known {
			return false
		}
		if key.Value == "selector" || key.Value == "applicationSet" {
			r.check(value, key.Value, out)
		}
	}
	if p.Selector != nil {
		p.Selector.check(p.node, "", out)
	}
	return len(found) == 0
}
