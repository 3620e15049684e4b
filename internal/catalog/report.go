package catalog

import (
	"cmp"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/gitops"
)

// reporter writes down what is wrong with one object.
type reporter struct {
	problems *[]gitops.Problem
	file     string
	object   string // Kind/name
}

// at reports a problem at a node, which may be nil.
func (r reporter) at(n *yaml.Node, field, format string, args ...any) {
	p := gitops.Problem{File: r.file, Object: r.object, Field: field, Message: fmt.Sprintf(format, args...)}
	if n != nil {
		p.Line = n.Line
	}
	*r.problems = append(*r.problems, p)
}

// count is how many problems there are; more after a step than before it means
// that the step has failed.
func (r reporter) count() int { return len(*r.problems) }

// sortProblems orders them as a reader of the folder meets them, each once.
func sortProblems(problems []gitops.Problem) []gitops.Problem {
	slices.SortFunc(problems, func(a, b gitops.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Object, b.Object),
			cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(problems)
}
