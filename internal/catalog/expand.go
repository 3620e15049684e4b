package catalog

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Limits of one document after its aliases are written out. They keep a small
// file from becoming a large catalog.
const (
	maxNodes = 100_000
	maxDepth = 100
)

// expander writes out aliases and merge keys.
type expander struct {
	budget int // nodes that may still be made
	first  int // lines before the text that the nodes come from
}

// expand returns a copy of a document without anchors, aliases and merge keys,
// with the lines of the file. It refuses keys that are there twice.
func expand(n *yaml.Node, first int) (*yaml.Node, *placedError) {
	e := &expander{budget: maxNodes, first: first}
	return e.copy(n, 0)
}

func (e *expander) copy(n *yaml.Node, depth int) (*yaml.Node, *placedError) {
	line := n.Line + e.first
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	e.budget--
	switch {
	case depth > maxDepth:
		return nil, &placedError{line, fmt.Sprintf("the document is nested more than %d deep, or an anchor contains itself", maxDepth)}
	case e.budget < 0:
		return nil, &placedError{line, fmt.Sprintf("the document has more than %d values once its aliases are written out; split it", maxNodes)}
	case n.Kind == yaml.MappingNode:
		return e.mapping(n, depth)
	}
	plain := &yaml.Node{Kind: n.Kind, Style: n.Style &^ yaml.TaggedStyle, Tag: n.Tag, Value: n.Value, Line: line, Column: n.Column}
	for _, below := range n.Content {
		c, wrong := e.copy(below, depth+1)
		if wrong != nil {
			return nil, wrong
		}
		plain.Content = append(plain.Content, c)
	}
	return plain, nil
}

// mapping copies own keys first; merged ones follow where they are not
// overridden.
func (e *expander) mapping(n *yaml.Node, depth int) (*yaml.Node, *placedError) {
	plain := &yaml.Node{Kind: yaml.MappingNode, Tag: n.Tag, Line: n.Line + e.first, Column: n.Column}
	lines := map[string]int{}
	var merged []*yaml.Node
	for key, value := range pairs(n) {
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return nil, &placedError{key.Line + e.first, "a key must be a plain word"}
		}
		v, wrong := e.copy(value, depth+1)
		if wrong != nil {
			return nil, wrong
		}
		if key.Tag == "!!merge" {
			merged = append(merged, v)
			continue
		}
		if before, twice := lines[key.Value]; twice {
			return nil, &placedError{key.Line + e.first, fmt.Sprintf("key %s is there twice, first in line %d", key.Value, before)}
		}
		lines[key.Value] = key.Line + e.first
		plain.Content = append(plain.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key.Value, Line: key.Line + e.first, Column: key.Column}, v)
	}
	for _, m := range merged {
		if wrong := merge(plain, m); wrong != nil {
			return nil, wrong
		}
	}
	return plain, nil
}

func merge(into, from *yaml.Node) *placedError {
	sources := []*yaml.Node{from}
	if from.Kind == yaml.SequenceNode {
		sources = from.Content
	}
	for _, source := range sources {
		if source.Kind != yaml.MappingNode {
			return &placedError{source.Line, "<< must name a mapping, or a list of them"}
		}
		have := map[string]bool{}
		for key := range pairs(into) {
			have[key.Value] = true
		}
		for key, value := range pairs(source) {
			if !have[key.Value] {
				into.Content = append(into.Content, key, value)
			}
		}
	}
	return nil
}
