package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/spelling"
)

// document is a settings file as it was written, for the places of mistakes.
type document struct {
	file string
	root yaml.Node
}

func (d document) empty() bool {
	return len(d.root.Content) == 0 || d.root.Content[0].Tag == "!!null"
}

// checkKeys refuses every key that no setting has, and durations without a unit.
func (d document) checkKeys() error {
	var mistakes []error
	d.walk(d.root.Content[0], reflect.TypeFor[Settings](), "", func(n *yaml.Node, message string) {
		mistakes = append(mistakes, fmt.Errorf("%s:%d: %s", d.file, n.Line, message))
	})
	return errors.Join(mistakes...)
}

// walk goes where the settings' types go, so that it ends even for an anchor
// that contains itself.
func (d document) walk(n *yaml.Node, t reflect.Type, path string, report func(*yaml.Node, string)) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		if _, err := time.ParseDuration(n.Value); n.Kind != yaml.ScalarNode || err != nil {
			report(n, fmt.Sprintf("%s is not a duration; write it like 30s or 2m", path))
		}
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
	case t.Kind() == reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			report(n, path+" must be a list")
			return
		}
		for i, item := range n.Content {
			d.walk(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i), report)
		}
	case t.Kind() == reflect.Struct:
		d.walkGroup(n, t, path, report)
	case t.Kind() == reflect.String && n.Kind != yaml.ScalarNode:
		report(n, path+" must be a string")
	case t.Kind() == reflect.Map && n.Kind != yaml.MappingNode:
		report(n, path+" must be a mapping")
	}
}

func (d document) walkGroup(n *yaml.Node, t reflect.Type, path string, report func(*yaml.Node, string)) {
	if n.Kind != yaml.MappingNode {
		report(n, strings.TrimPrefix(path+" must be a group of settings", " "))
		return
	}
	known := keysOf(t)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		name := strings.TrimPrefix(path+"."+key.Value, ".")
		if field, ok := known[key.Value]; ok {
			d.walk(n.Content[i+1], field, name, report)
			continue
		}
		report(key, "unknown setting "+name+spelling.Hint(key.Value, names(t)))
	}
}

// unwritten marks a field that no file sets.
const unwritten = "-"

func keysOf(t reflect.Type) map[string]reflect.Type {
	keys := map[string]reflect.Type{}
	for f := range t.Fields() {
		if name := f.Tag.Get("yaml"); name != unwritten {
			keys[name] = f.Type
		}
	}
	return keys
}

func names(t reflect.Type) []string {
	var all []string
	for f := range t.Fields() {
		if name := f.Tag.Get("yaml"); name != unwritten {
			all = append(all, name)
		}
	}
	return all
}

// explain gives a decoding error the file's name, one mistake a line.
func (d document) explain(err error) error {
	var wrong *yaml.TypeError
	if !errors.As(err, &wrong) {
		text := strings.TrimPrefix(err.Error(), "yaml: ")
		if place, found := strings.CutPrefix(text, "line "); found {
			return fmt.Errorf("%s:%s", d.file, place)
		}
		return fmt.Errorf("%s: %s", d.file, text)
	}
	var mistakes []error
	for _, text := range wrong.Errors {
		text = strings.Replace(text, "cannot unmarshal", "cannot read", 1)
		mistakes = append(mistakes, fmt.Errorf("%s:%s", d.file, strings.TrimPrefix(text, "line ")))
	}
	return errors.Join(mistakes...)
}

// at is the place of a setting, or of the nearest one around it that the file
// has: "file:line".
func (d document) at(path ...any) string {
	if d.empty() {
		return d.file
	}
	node := d.root.Content[0]
	for _, step := range path {
		next := child(node, step)
		if next == nil {
			break
		}
		node = next
	}
	return fmt.Sprintf("%s:%d", d.file, node.Line)
}

// child follows one step: a key of a mapping, or an index of a sequence.
func child(n *yaml.Node, step any) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch step := step.(type) {
	case string:
		for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == step {
				return n.Content[i+1]
			}
		}
	case int:
		if n.Kind == yaml.SequenceNode && step < len(n.Content) {
			return n.Content[step]
		}
	}
	return nil
}
