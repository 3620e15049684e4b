package catalog

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// selector is Kubernetes' label selector. An empty one selects everything.
type selector struct {
	MatchLabels      map[string]string `yaml:"matchLabels"`
	MatchExpressions []expression      `yaml:"matchExpressions"`
}

type expression struct {
	Key      string   `yaml:"key"`
	Operator string   `yaml:"operator"`
	Values   []string `yaml:"values"`
}

// check reports expressions that mean nothing.
func (s selector) check(n *yaml.Node, path string, out reporter) {
	for i, e := range s.MatchExpressions {
		if wrong := e.wrong(); wrong != "" {
			out.at(near(n), path, "%s.matchExpressions[%d] %s", path, i, wrong)
		}
	}
}

func (e expression) wrong() string {
	set := e.Operator == "In" || e.Operator == "NotIn"
	presence := e.Operator == "Exists" || e.Operator == "DoesNotExist"
	switch {
	case e.Key == "":
		return "has no key"
	case !set && !presence:
		return fmt.Sprintf("has operator %q; it must be In, NotIn, Exists or DoesNotExist", e.Operator)
	case set && len(e.Values) == 0:
		return "needs values for " + e.Operator
	case presence && len(e.Values) > 0:
		return "takes no values for " + e.Operator
	}
	return ""
}

// matches says whether labels have all that the selector asks for.
func (s selector) matches(labels map[string]string) bool {
	for key, want := range s.MatchLabels {
		if have, ok := labels[key]; !ok || have != want {
			return false
		}
	}
	return !slices.ContainsFunc(s.MatchExpressions, func(e expression) bool { return !e.matches(labels) })
}

func (e expression) matches(labels map[string]string) bool {
	have, ok := labels[e.Key]
	switch e.Operator {
	case "In":
		return ok && slices.Contains(e.Values, have)
	case "NotIn":
		return !ok || !slices.Contains(e.Values, have)
	case "Exists":
		return ok
	case "DoesNotExist":
		return !ok
	default:
		return false
	}
}

// list is a sentence's list of names; "none" for no name.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
