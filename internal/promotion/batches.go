package promotion

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Batches are the targets of a stage in the batches in which they have their turn.
func Batches(s gitops.Strategy, targets []string) [][]string {
	place := func(name string) int {
		if i := slices.Index(s.Order, name); i >= 0 {
			return i
		}
		return len(s.Order)
	}
	ordered := slices.SortedFunc(slices.Values(targets), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(a, b))
	})
	var batches [][]string
	done := 0
	for _, bound := range append(slices.Clone(s.Batches), gitops.Amount{Percent: 100}) {
		if upTo := bound.AtLeast(len(ordered)); upTo > done {
			batches = append(batches, ordered[done:upTo])
			done = upTo
		}
	}
	return batches
}

// Tally is how many of the targets of a stage have come to no good end.
type Tally struct{ Failed, Unreachable, Total int }

// Overspent says why a stage has spent more than its failure budget; empty when it has
// not. Without a budget no target may fail, and targets that cannot be reached do not
// count: they catch up.
func Overspent(s gitops.Strategy, t Tally) string {
	if s.FailureBudget == nil {
		if t.Failed == 0 {
			return ""
		}
		return fmt.Sprintf("%d of %d targets failed", t.Failed, t.Total)
	}
	if t.Failed+t.Unreachable <= s.FailureBudget.AtMost(t.Total) {
		return ""
	}
	return fmt.Sprintf("%d of %d targets failed and %d could not be reached, which is more than the failure budget of %s", t.Failed, t.Total, t.Unreachable, s.FailureBudget)
}
