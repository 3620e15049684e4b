package catalog

import (
	"slices"

	"github.com/tidegate/tidegate/internal/gitops"
)

// claim returns the Pipelines that select each target, by its name.
func (l *loader) claim() map[string][]*pipeline {
	claims := map[string][]*pipeline{}
	for _, c := range l.candidates {
		for _, p := range l.pipelines {
			if p.selects(c) {
				claims[c.Name] = append(claims[c.Name], p)
			}
		}
	}
	return claims
}

// pipelineDeliveries makes one Delivery of every Pipeline that can be.
func (l *loader) pipelineDeliveries(claims map[string][]*pipeline) []gitops.Delivery {
	var made []gitops.Delivery
	for _, p := range l.pipelines {
		out := p.reporter(&l.problems)
		before := out.count()
		var selected []candidate
		for _, c := range l.candidates {
			if slices.Contains(claims[c.Name], p) {
				selected = append(selected, c)
			}
		}
		if p.broken {
			continue
		}
		d := p.delivery(selected, l.fleet, out)
		p.checkClaims(selected, claims, out)
		l.checkKey(d, claims, p, out)
		if out.count() == before {
			made = append(made, d)
		}
	}
	return made
}

// checkClaims refuses targets that another Pipeline promotes too.
func (p *pipeline) checkClaims(selected []candidate, claims map[string][]*pipeline, out reporter) {
	for _, c := range selected {
		for _, other := range claims[c.Name] {
			if other != p {
				out.at(near(p.node, "spec"), "spec", "Application %s is selected by Pipeline %s too; let one of them promote it", c.Name, other.name())
			}
		}
	}
}

// checkKey refuses a Pipeline that is called like an Application outside of it.
func (l *loader) checkKey(d gitops.Delivery, claims map[string][]*pipeline, p *pipeline, out reporter) {
	for _, c := range l.candidates {
		if c.Project == d.Project && c.Name == d.Name && len(claims[c.Name]) == 0 {
			out.at(near(p.node, "metadata", "name"), "metadata.name", "Application %s (%s) has the name of this Pipeline and is not in it; rename one", c.Name, c.place())
		}
	}
}
