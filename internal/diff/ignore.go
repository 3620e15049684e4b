package diff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/gojq"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Ignore knows the fields that a target leaves to others.
type Ignore struct{ rules []ignoreRule }

type ignoreRule struct {
	gitops.IgnoreRule
	pointers []Path
	queries  []query
}

type query struct {
	text string
	code *gojq.Code
}

// Path leads to one field of an object: names of fields, and places in lists (int).
type Path []any

// jqLimit bounds one jq expression on one object; it is what Argo CD allows, too.
const jqLimit = time.Second

// NewIgnore prepares rules. The error names the expression that is wrong.
func NewIgnore(rules []gitops.IgnoreRule) (Ignore, error) {
	var out Ignore
	for _, r := range rules {
		rule := ignoreRule{IgnoreRule: r}
		for _, text := range r.JSONPointers {
			path, err := readPointer(text)
			if err != nil {
				return out, fmt.Errorf("jsonPointers: %w", err)
			}
			rule.pointers = append(rule.pointers, path)
		}
		for _, text := range r.JQPathExpressions {
			q, err := readQuery(text)
			if err != nil {
				return out, fmt.Errorf("jqPathExpressions: %q: %w", text, err)
			}
			rule.queries = append(rule.queries, q)
		}
		out.rules = append(out.rules, rule)
	}
	return out, nil
}

// readPointer reads a JSON pointer (RFC 6901).
func readPointer(text string) (Path, error) {
	if !strings.HasPrefix(text, "/") || text == "/" {
		return nil, fmt.Errorf("%q is no path; it starts with / and names a field: /spec/replicas", text)
	}
	var path Path
	for segment := range strings.SplitSeq(text[1:], "/") {
		path = append(path, strings.NewReplacer("~1", "/", "~0", "~").Replace(segment))
	}
	return path, nil
}

func readQuery(text string) (query, error) {
	if _, err := gojq.Parse(text); err != nil {
		return query{}, err
	}
	parsed, err := gojq.Parse("path(" + text + ")")
	if err != nil {
		return query{}, err
	}
	code, err := gojq.Compile(parsed)
	return query{text, code}, err
}

// Of returns what is ignored of one object; nothing is a value like any other.
func (g Ignore) Of(key gitops.ObjectKey) Ignored {
	var out Ignored
	for i := range g.rules {
		if g.rules[i].Matches(key) {
			out = append(out, &g.rules[i])
		}
	}
	return out
}

// Ignored are the rules about one object.
type Ignored []*ignoreRule

// NeedLive says whether the live object is needed to know what is ignored of the
// desired one.
func (g Ignored) NeedLive() bool {
	return slices.ContainsFunc(g, func(r *ignoreRule) bool { return len(r.ManagedFieldsManagers) > 0 })
}

// Paths are the fields of an object that are ignored, of those that it has. Which
// fields managers own is read from the live object; nil when there is none.
func (g Ignored) Paths(ctx context.Context, object, live map[string]any) ([]Path, error) {
	var paths []Path
	for _, r := range g {
		for _, pointer := range r.pointers {
			if path, ok := resolve(object, pointer); ok {
				paths = append(paths, path)
			}
		}
		for _, q := range r.queries {
			found, err := q.paths(ctx, object)
			if err != nil {
				return nil, err
			}
			paths = append(paths, found...)
		}
		for _, manager := range r.ManagedFieldsManagers {
			paths = append(paths, managedPaths(object, live, manager)...)
		}
	}
	// From the back, so that removing a list's item moves none that follows.
	slices.SortFunc(paths, func(a, b Path) int { return -a.compare(b) })
	return slices.CompactFunc(paths, func(a, b Path) bool { return a.compare(b) == 0 }), nil
}

func (p Path) compare(o Path) int {
	return slices.CompareFunc(p, o, func(a, b any) int {
		x, isNumber := a.(int)
		y, alsoNumber := b.(int)
		if isNumber && alsoNumber {
			return cmp.Compare(x, y)
		}
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
}

// resolve makes a pointer a path of an object, if that has such a field.
func resolve(object map[string]any, pointer Path) (path Path, found bool) {
	var value any = object
	for _, segment := range pointer {
		name, _ := segment.(string)
		switch v := value.(type) {
		case map[string]any:
			if value, found = v[name]; !found {
				return nil, false
			}
			path = append(path, name)
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
			path = append(path, i)
		default:
			return nil, false
		}
	}
	return path, true
}

// paths runs the expression. One that does not fit the object finds nothing.
func (q query) paths(ctx context.Context, object map[string]any) (paths []Path, err error) {
	limited, cancel := context.WithTimeout(ctx, jqLimit)
	defer cancel()
	for results := q.code.RunWithContext(limited, plain(object)); ; {
		result, more := results.Next()
		if !more {
			return paths, nil
		}
		if _, failed := result.(error); failed {
			if limited.Err() != nil {
				return nil, errors.Join(ctx.Err(), fmt.Errorf("the jq expression %q takes longer than %s", q.text, jqLimit))
			}
			return paths, nil
		}
		steps, _ := result.([]any)
		if path, ok := resolve(object, texts(steps)); ok && len(path) > 0 {
			paths = append(paths, path)
		}
	}
}

func texts(steps []any) (path Path) {
	for _, s := range steps {
		path = append(path, fmt.Sprint(s))
	}
	return path
}

// plain is an object in the types that jq knows: it has no int64.
func plain(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, item := range x {
			out[k] = plain(item)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, item := range x {
			out[i] = plain(item)
		}
		return out
	case int64:
		return int(x)
	default:
		return v
	}
}

// managedPaths are the fields of an object that a manager owns in the live one.
func managedPaths(object, live map[string]any, manager string) (paths []Path) {
	metadata, _ := live["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	d := NewDigester("")
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		fields, _ := entry["fieldsV1"].(map[string]any)
		if entry["manager"] == manager {
			paths = d.leaves(paths, nil, fields, object)
		}
	}
	return paths
}

// leaves adds the ends of a tree of managed fields, as far as the object has them.
func (d *Digester) leaves(paths []Path, at Path, fields map[string]any, value any) []Path {
	for element, below := range fields {
		if element == "." {
			continue
		}
		c, err := d.step(element, value)
		if err != nil || c.position == absent {
			continue
		}
		path := append(slices.Clip(at), c.place())
		children, _ := below.(map[string]any)
		if _, only := children["."]; len(children) == 0 || only && len(children) == 1 {
			paths = append(paths, path)
			continue
		}
		paths = d.leaves(paths, path, children, c.value)
	}
	return paths
}

// place is a child's step of a path: a field's name, or its place in a list.
func (c child) place() any {
	if name, ok := strings.CutPrefix(c.element, "f:"); ok {
		return name
	}
	return c.position
}

// Without is a copy of an object without the fields at some paths, neither as values
// nor among those that a manager owns.
func (d *Digester) Without(object map[string]any, paths []Path) map[string]any {
	out := runtime.DeepCopyJSON(object)
	fields, _, _ := applyEntry(out, d.manager)
	for _, path := range paths {
		d.disown(fields, object, path)
		remove(out, path)
	}
	return out
}

// Disown takes paths out of what the manager owns of an object, in place. It says
// whether it owned any of them.
func (d *Digester) Disown(object map[string]any, paths []Path) (owned bool) {
	fields, _, _ := applyEntry(object, d.manager)
	for _, path := range paths {
		owned = d.disown(fields, object, path) || owned
	}
	return owned
}

func (d *Digester) disown(fields map[string]any, value any, path Path) bool {
	for element, below := range fields {
		c, err := d.step(element, value)
		if element == "." || err != nil || c.position == absent || c.place() != path[0] {
			continue
		}
		children, _ := below.(map[string]any)
		if len(path) == 1 {
			delete(fields, element)
			return true
		}
		owned := d.disown(children, c.value, path[1:])
		// A path without children would own all of its value.
		if _, only := children["."]; owned && (len(children) == 0 || only && len(children) == 1) {
			delete(fields, element)
		}
		return owned
	}
	return false
}

func remove(value any, path Path) {
	parent := at(value, path[:len(path)-1])
	switch step := path[len(path)-1].(type) {
	case string:
		if m, ok := parent.(map[string]any); ok {
			delete(m, step)
		}
	case int:
		if list, ok := parent.([]any); ok && step < len(list) {
			set(value, path[:len(path)-1], slices.Delete(list, step, step+1))
		}
	}
}

// at returns the value that a path leads to; nil when there is none.
func at(value any, path Path) any {
	for _, step := range path {
		switch v := value.(type) {
		case map[string]any:
			name, _ := step.(string)
			value = v[name]
		case []any:
			i, ok := step.(int)
			if !ok || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// set puts a value where a path leads to, if there is a place for it.
func set(root any, path Path, value any) {
	if len(path) == 0 {
		return
	}
	switch step := path[len(path)-1].(type) {
	case string:
		if m, ok := at(root, path[:len(path)-1]).(map[string]any); ok {
			m[step] = value
		}
	case int:
		if list, ok := at(root, path[:len(path)-1]).([]any); ok && step < len(list) {
			list[step] = value
		}
	}
}

// Carry copies the values at some paths from one object to another, in place.
func Carry(from, to map[string]any, paths []Path) {
	for _, path := range paths {
		set(to, path, at(from, path))
	}
}
