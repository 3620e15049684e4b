package catalog

import (
	"iter"

	"go.yaml.in/yaml/v3"
)

// pairs yields the keys and values of a mapping in their order; nothing for any
// other node.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(*yaml.Node, *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// get follows keys downwards; nil when one is missing.
func get(n *yaml.Node, keys ...string) *yaml.Node {
	for _, want := range keys {
		var found *yaml.Node
		for key, value := range pairs(n) {
			if key.Value == want {
				found = value
				break
			}
		}
		if found == nil {
			return nil
		}
		n = found
	}
	return n
}

// near is get, or the deepest node on the way that is there: the place to show
// for a field that is missing.
func near(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		next := get(n, key)
		if next == nil {
			break
		}
		n = next
	}
	return n
}

// text is the value of a scalar; "" for anything else.
func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || isNull(n) {
		return ""
	}
	return n.Value
}

// sequence is the items of a list; none for anything else.
func sequence(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// isBlank says whether a field is written but says nothing, as exports have it.
func isBlank(n *yaml.Node) bool {
	switch {
	case isNull(n):
		return true
	case n.Kind == yaml.ScalarNode:
		return n.Value == "" || n.ShortTag() == "!!bool" && n.Value == "false"
	}
	return len(n.Content) == 0
}
