package diff

import (
	"maps"
	"slices"
)

// Projected digests what a live object has where the desired one says something.
// It is for objects of which the server does not note what we own: those that are
// replaced, or merged by ourselves. Items of lists are the same when their names
// are, or their places where they have no names.
func (d *Digester) Projected(desired, live map[string]any) Sum {
	d.out.reset()
	d.project(desired, live, true)
	return d.out.sum()
}

func (d *Digester) project(desired, live any, present bool) {
	if !present {
		d.out.mark('A')
		return
	}
	switch want := desired.(type) {
	case map[string]any:
		got, isMap := live.(map[string]any)
		d.out.mark(nature(live))
		for _, key := range slices.Sorted(maps.Keys(want)) {
			value, there := got[key]
			d.out.text(key)
			d.project(want[key], value, isMap && there)
		}
		d.out.mark(')')
	case []any:
		got, isList := live.([]any)
		d.out.mark(nature(live))
		named := isNamed(want)
		for i, item := range want {
			value, there := itemLike(item, i, got, named)
			d.project(item, value, isList && there)
		}
		if !named {
			d.out.integer(int64(len(got)))
		}
		d.out.mark(')')
	default:
		d.out.value(live)
	}
}

// isNamed says whether every item of a list is a map with a name.
func isNamed(list []any) bool {
	return !slices.ContainsFunc(list, func(item any) bool { return nameOf(item) == "" })
}

func nameOf(item any) string {
	m, _ := item.(map[string]any)
	name, _ := m["name"].(string)
	return name
}

func itemLike(want any, place int, list []any, named bool) (item any, found bool) {
	if named {
		place = slices.IndexFunc(list, func(item any) bool { return nameOf(item) == nameOf(want) })
	}
	if place < 0 || place >= len(list) {
		return nil, false
	}
	return list[place], true
}
