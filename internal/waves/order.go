// Package waves puts objects in the order in which they are applied and deleted:
// by wave, then by what usually needs what. The order is total: the same objects
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
	Key  gitops.ObjectKey
	Wave int
	// Defines is the kind that a CustomResourceDefinition defines; empty for
	// everything else.
	Defines schema.GroupKind
}

// Step is what is done together: the objects of one wave.
type Step struct {
	Wave int
	// Groups are done one after the other, the members of one at the same time.
	// They index the items that were put in order.
	Groups [][]int
}

// Order returns the steps of an apply, in order. A Namespace comes no later than
// the first object in it, a CustomResourceDefinition no later than the first
// object of its kind, whatever their own waves say.
func Order(items []Item) []Step {
	waves := pulledForward(items)
	order := indices(items)
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(waves[a], waves[b]), compareKinds(items[a].Key, items[b].Key), items[a].Key.Compare(items[b].Key))
	})
	return steps(items, waves, order)
}

// Reverse returns the steps of a deletion: the opposite of Order.
func Reverse(items []Item) []Step {
	waves := pulledForward(items)
	order := indices(items)
	slices.SortFunc(order, func(a, b int) int {
		return -cmp.Or(cmp.Compare(waves[a], waves[b]), compareKinds(items[a].Key, items[b].Key), items[a].Key.Compare(items[b].Key))
	})
	return steps(items, waves, order)
}

func steps(items []Item, waves, order []int) []Step {
	var steps []Step
	for n, i := range order {
		if n == 0 || waves[i] != waves[order[n-1]] {
			steps = append(steps, Step{Wave: waves[i]})
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

func pulledForward(items []Item) []int {
	first := map[schema.GroupKind]int{}
	inNamespace := map[string]int{}
	for _, it := range items {
		lower(first, schema.GroupKind{Group: it.Key.Group, Kind: it.Key.Kind}, it.Wave)
		if it.Key.Namespace != "" {
			lower(inNamespace, it.Key.Namespace, it.Wave)
		}
	}
	waves := make([]int, len(items))
	for i, it := range items {
		waves[i] = it.Wave
		if w, ok := first[it.Defines]; ok && it.Defines.Kind != "" {
			waves[i] = min(waves[i], w)
		}
		if w, ok := inNamespace[it.Key.Name]; ok && isNamespace(it.Key) {
			waves[i] = min(waves[i], w)
		}
	}
	return waves
}

func lower[K comparable](m map[K]int, k K, wave int) {
	if w, ok := m[k]; !ok || wave < w {
		m[k] = wave
	}
}

func isNamespace(k gitops.ObjectKey) bool { return k.Group == "" && k.Kind == "Namespace" }

func indices(items []Item) []int {
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	return order
}
