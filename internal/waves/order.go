// Package waves puts objects in the order in which they are applied and deleted:
// by phase and wave, then by what usually needs what. The order is total: the same objects
// always come out the same way, whatever order they came in.
package waves

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Item is one object to be put in order.
type Item struct {
	Key   gitops.ObjectKey
	Phase gitops.StepPhase
	Wave  int
	// Defines is the kind that a CustomResourceDefinition defines; empty for
	// everything else.
	Defines schema.GroupKind
}

// Step is what is done together: the objects of one wave of a phase.
type Step struct {
	Phase gitops.StepPhase
	Wave  int
	// Groups are done one after the other, the members of one at the same time.
	// They index the items that were put in order.
	Groups [][]int
}

// Order returns the steps of an apply, in order. A Namespace comes no later than
// the first object in it, a CustomResourceDefinition no later than the first
// object of its kind, whatever their own phases and waves say.
func Order(items []Item) []Step {
	return ordered(items, compare)
}

// Reverse returns the steps of a deletion: the opposite of Order.
func Reverse(items []Item) []Step {
	return ordered(items, func(a, b Item) int { return -compare(a, b) })
}

func ordered(items []Item, compare func(a, b Item) int) []Step {
	items = pulledForward(items)
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return compare(items[a], items[b]) })
	return steps(items, order)
}

func compare(a, b Item) int {
	return cmp.Or(a.at().compare(b.at()), compareKinds(a.Key, b.Key), a.Key.Compare(b.Key))
}

func steps(items []Item, order []int) []Step {
	var steps []Step
	for n, i := range order {
		if n == 0 || items[i].at() != items[order[n-1]].at() {
			steps = append(steps, Step{Phase: items[i].Phase, Wave: items[i].Wave})
		}
		s := &steps[len(steps)-1]
		if len(s.Groups) == 0 || compareKinds(items[i].Key, items[order[n-1]].Key) != 0 {
			s.Groups = append(s.Groups, nil)
		}
		last := len(s.Groups) - 1
		s.Groups[last] = append(s.Groups[last], i)
	}
	return steps
}

// moment is when an item's turn is.
type moment struct {
	phase gitops.StepPhase
	wave  int
}

func (it Item) at() moment { return moment{it.Phase, it.Wave} }

func (m moment) compare(o moment) int {
	return cmp.Or(cmp.Compare(m.phase.Rank(), o.phase.Rank()), cmp.Compare(m.wave, o.wave))
}

func pulledForward(items []Item) []Item {
	first := map[schema.GroupKind]moment{}
	inNamespace := map[string]moment{}
	for _, it := range items {
		lower(first, schema.GroupKind{Group: it.Key.Group, Kind: it.Key.Kind}, it.at())
		if it.Key.Namespace != "" {
			lower(inNamespace, it.Key.Namespace, it.at())
		}
	}
	pulled := slices.Clone(items)
	for i := range pulled {
		it := &pulled[i]
		if m, ok := first[it.Defines]; ok && it.Defines.Kind != "" {
			it.pull(m)
		}
		if m, ok := inNamespace[it.Key.Name]; ok && isNamespace(it.Key) {
			it.pull(m)
		}
	}
	return pulled
}

func (it *Item) pull(to moment) {
	if to.compare(it.at()) < 0 {
		it.Phase, it.Wave = to.phase, to.wave
	}
}

func lower[K comparable](m map[K]moment, k K, at moment) {
	if earliest, ok := m[k]; !ok || at.compare(earliest) < 0 {
		m[k] = at
	}
}

func isNamespace(k gitops.ObjectKey) bool { return k.Group == "" && k.Kind == "Namespace" }
