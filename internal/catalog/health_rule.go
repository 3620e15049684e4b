package catalog

import (
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/health"
)

// readHealthRule reads a HealthRule, whose fields are checked. There is one for a
// kind.
func (l *loader) readHealthRule(d document) {
	out := d.reporter(&l.problems)
	var spec struct {
		Group       string `yaml:"group"`
		Kind        string `yaml:"kind"`
		Degraded    string `yaml:"degraded"`
		Suspended   string `yaml:"suspended"`
		Healthy     string `yaml:"healthy"`
		Progressing string `yaml:"progressing"`
		Message     string `yaml:"message"`
	}
	node := get(d.node, "spec")
	if node == nil || !decodeInto(node, &spec, out) {
		out.at(d.node, "spec", "spec is missing")
		return
	}
	rule := gitops.HealthRule(spec)
	if rule.Kind == "" {
		out.at(node, "spec.kind", "the rule names no kind")
		return
	}
	for _, other := range l.health {
		if other.Group == rule.Group && other.Kind == rule.Kind {
			out.at(node, "spec.kind", "there is another HealthRule for %s %s; keep one", rule.Group, rule.Kind)
			return
		}
	}
	if _, err := health.NewRules([]gitops.HealthRule{rule}); err != nil {
		out.at(node, "spec", "%s", err)
		return
	}
	l.health = append(l.health, rule)
}
