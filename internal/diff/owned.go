// Package diff finds out what differs between what a target wants, what its
// inventory remembers, and what a region shows, without asking the region about
// every object.
//
// Two digests per object do it: of the desired object, and of the fields that
// Tidegate owns as the server returned them after the last apply. While neither
// has changed there is nothing to do, whatever defaults, quantities in other
// spellings, admission webhooks and other writers have made of the rest.
package diff

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var (
	// ErrNotOwned says that the manager has no Apply entry on an object: it never
	// applied it, or the entry was cleared. Applying again mends it.
	ErrNotOwned = errors.New("no apply entry of the field manager")
	// ErrVersion says that the entry's paths belong to another API version than the
	// one the object was read in. Applying again in that version mends it.
	ErrVersion = errors.New("the apply entry is of another API version")
)

// Sum is the digest of the fields that a manager owns and of their values.
type Sum [sha256.Size]byte

// Digester computes digests of owned fields. It keeps scratch space, and list
// keys that repeat from object to object; it is not safe for concurrent use.
type Digester struct {
	manager string
	out     canonical
	keys    map[string]any // parsed k: and v: path elements
}

// maxKeys bounds what a long-lived Digester remembers.
const maxKeys = 1 << 14

// NewDigester returns a Digester for one field manager.
func NewDigester(manager string) *Digester {
	return &Digester{manager: manager, out: newCanonical(), keys: map[string]any{}}
}

// Owned digests what the manager owns of a live object, decoded from JSON. It
// needs no schema: the object's managedFields are a tree of paths,
//
//	f:NAME   a field or map key
//	k:{...}  a list item, by its key fields
//	v:VALUE  a set item, by its value
//	i:N      a list item, by its index
//	.        the node itself, besides its children
//
// that is walked in step with the object. A path without children owns its whole
// value: a scalar, or an atomic list or map.
func (d *Digester) Owned(object map[string]any) (Sum, error) {
	fields, version, ok := applyEntry(object, d.manager)
	if !ok {
		return Sum{}, ErrNotOwned
	}
	if v, _ := object["apiVersion"].(string); v != version {
		return Sum{}, fmt.Errorf("%w: %s instead of %s", ErrVersion, version, v)
	}
	if len(d.keys) > maxKeys {
		clear(d.keys)
	}
	d.out.reset()
	if err := d.walk(fields, object, true); err != nil {
		return Sum{}, err
	}
	return d.out.sum(), nil
}

// applyEntry finds the manager's Apply entry for the object itself. There is one
// at most: servers key Apply entries by manager and subresource.
func applyEntry(object map[string]any, manager string) (fields map[string]any, version string, ok bool) {
	metadata, _ := object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		if entry["manager"] != manager || entry["operation"] != "Apply" {
			continue
		}
		if s, _ := entry["subresource"].(string); s != "" {
			continue
		}
		fields, ok = entry["fieldsV1"].(map[string]any)
		version, _ = entry["apiVersion"].(string)
		return fields, version, ok
	}
	return nil, "", false
}

// child is one path element below a node, with what the live object has there.
type child struct {
	element string
	value   any
	// position is the index of a list item, 0 for a field, absent when the live
	// object has no such element.
	position int
}

const absent = -1

// walk writes the tree of fields in canonical order, with the live values at its
// leaves. List items go in the order of the live list: that is owned too, since an
// apply restores it, whatever others put between.
func (d *Digester) walk(fields map[string]any, value any, present bool) error {
	if !present {
		d.out.mark('A')
	}
	if len(fields) == 0 {
		if present {
			d.out.value(value)
		}
		return nil
	}
	children, err := d.children(fields, value)
	if err != nil {
		return err
	}
	d.out.mark('(')
	for _, c := range children {
		d.out.text(c.element)
		if c.element == "." {
			d.out.mark(nature(value))
			continue
		}
		below, ok := fields[c.element].(map[string]any)
		if !ok {
			return fmt.Errorf("field path %q leads to no map", c.element)
		}
		if err := d.walk(below, c.value, c.position != absent); err != nil {
			return err
		}
	}
	d.out.mark(')')
	return nil
}

func (d *Digester) children(fields map[string]any, value any) ([]child, error) {
	children := make([]child, 0, len(fields))
	for element := range fields {
		c := child{element: element}
		if element != "." {
			var err error
			if c, err = d.step(element, value); err != nil {
				return nil, err
			}
		}
		children = append(children, c)
	}
	slices.SortFunc(children, func(a, b child) int {
		if a.position != b.position {
			return a.position - b.position
		}
		return strings.Compare(a.element, b.element)
	})
	return children, nil
}

// step resolves one path element below a value.
func (d *Digester) step(element string, value any) (child, error) {
	sort, rest, ok := strings.Cut(element, ":")
	if !ok {
		return child{}, fmt.Errorf("field path %q is not understood", element)
	}
	found := child{element: element, position: absent}
	switch sort {
	case "f":
		m, _ := value.(map[string]any)
		if v, ok := m[rest]; ok {
			found.value, found.position = v, 0
		}
		return found, nil
	case "i":
		list, _ := value.([]any)
		i, err := strconv.Atoi(rest)
		if err != nil {
			return child{}, fmt.Errorf("field path %q is not understood", element)
		}
		if i >= 0 && i < len(list) {
			found.value, found.position = list[i], i
		}
		return found, nil
	case "k", "v":
		return d.item(found, rest, value)
	default:
		return child{}, fmt.Errorf("field path %q is not understood", element)
	}
}

// item finds the list item that a k: or v: path element means.
func (d *Digester) item(c child, encoded string, value any) (child, error) {
	want, ok := d.keys[c.element]
	if !ok {
		if err := json.Unmarshal([]byte(encoded), &want); err != nil {
			return child{}, fmt.Errorf("field path %q: %w", c.element, err)
		}
		d.keys[c.element] = want
	}
	list, _ := value.([]any)
	for i, item := range list {
		if keyed, isMap := want.(map[string]any); isMap && c.element[0] == 'k' && hasKey(item, keyed) || c.element[0] == 'v' && sameScalar(want, item) {
			c.value, c.position = item, i
			return c, nil
		}
	}
	return c, nil
}

// hasKey says whether a list item has the wanted key fields. One that the item
// lacks has a default in the schema, which servers add to the path only: it
// matches anything, if another key field does match.
func hasKey(item any, want map[string]any) bool {
	m, ok := item.(map[string]any)
	if !ok {
		return false
	}
	matched := false
	for field, v := range want {
		got, has := m[field]
		if has && !sameScalar(v, got) {
			return false
		}
		matched = matched || has
	}
	return matched
}

func sameScalar(a, b any) bool {
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y
	}
	switch a.(type) {
	case map[string]any, []any: // not comparable, and never a key
		return false
	}
	return a == b
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	default:
		return 0, false
	}
}
