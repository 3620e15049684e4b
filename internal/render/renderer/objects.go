package renderer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// objects collects Kubernetes objects and where they come from.
type objects struct {
	list []object
}

type object struct {
	key     gitops.ObjectKey
	place   place
	content map[string]any
}

// place is where an object is declared.
type place struct {
	file     string
	line     int
	document int // counted from 1; 0 in what Kustomize has built
}

// addFile adds what one file declares. A file in which no document looks like a
// Kubernetes object, such as a values.yaml, is left out, as in Argo CD; in any
// other file every document must be one.
func (o *objects) addFile(file string, text []byte) error {
	if path.Ext(file) == ".json" {
		return o.addJSON(file, text)
	}
	var contents []any
	var places []place
	for i, d := range splitDocuments(text) {
		if d.isBlank() {
			continue
		}
		encoded, err := d.decode(file)
		if err != nil {
			return err
		}
		content, err := decodeJSON(encoded)
		if err != nil {
			return &render.Error{Kind: render.KindParse, File: file, Line: d.line, Message: "it cannot be JSON: " + err.Error()}
		}
		contents, places = append(contents, content), append(places, place{file, d.line, i + 1})
	}
	if !slices.ContainsFunc(contents, looksLikeObject) {
		return nil
	}
	for i, content := range contents {
		if err := o.add(places[i], content); err != nil {
			return err
		}
	}
	return nil
}

// addJSON adds a JSON file: one object, or several one after the other.
func (o *objects) addJSON(file string, text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	for document := 1; ; document++ {
		start := decoder.InputOffset()
		var content any
		err := decoder.Decode(&content)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			offset := min(int(decoder.InputOffset()), len(text))
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) {
				offset = min(int(syntax.Offset), len(text))
			}
			return &render.Error{Kind: render.KindParse, File: file, Line: 1 + bytes.Count(text[:offset], []byte("\n")), Message: "it is not JSON: " + err.Error()}
		}
		skipped := len(text[start:]) - len(bytes.TrimLeft(text[start:], " \t\r\n"))
		line := 1 + bytes.Count(text[:int(start)+skipped], []byte("\n"))
		if err := o.add(place{file, line, document}, content); err != nil {
			return err
		}
	}
}

func decodeJSON(encoded []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var content any
	err := decoder.Decode(&content)
	return content, err
}

func looksLikeObject(content any) bool {
	m, _ := content.(map[string]any)
	for _, field := range []string{"apiVersion", "kind", "metadata"} {
		if _, ok := m[field]; ok {
			return true
		}
	}
	return false
}

// add takes one object, or the members of a List.
func (o *objects) add(at place, content any) error {
	if content == nil {
		return nil
	}
	m, ok := content.(map[string]any)
	if !ok {
		return at.fault("it is no Kubernetes object but a plain value or a list")
	}
	kind, _ := m["kind"].(string)
	if items, ok := m["items"].([]any); ok && strings.HasSuffix(kind, "List") {
		for _, item := range items {
			if err := o.add(at, item); err != nil {
				return err
			}
		}
		return nil
	}
	version, _ := m["apiVersion"].(string)
	metadata, _ := m["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	generated, _ := metadata["generateName"].(string)
	switch {
	case version == "":
		return at.fault("it has no apiVersion")
	case kind == "":
		return at.fault("it has no kind")
	case name == "" && generated != "":
		return at.fault(fmt.Sprintf("the %s has a generateName only; give it a name", kind))
	case name == "":
		return at.fault(fmt.Sprintf("the %s has no metadata.name", kind))
	}
	namespace, _ := metadata["namespace"].(string)
	group, _, grouped := strings.Cut(version, "/")
	if !grouped {
		group = ""
	}
	key := gitops.ObjectKey{Group: group, Kind: kind, Namespace: namespace, Name: name}
	o.list = append(o.list, object{key: key, place: at, content: m})
	return nil
}

func (p place) fault(message string) error {
	e := &render.Error{Kind: render.KindParse, File: p.file, Line: p.line, Message: message}
	if p.document > 0 {
		e.Message = fmt.Sprintf("document %d: %s", p.document, message)
	}
	return e
}

// result is the objects as a canonical list.
func (o *objects) result(r render.Result) (render.Result, error) {
	slices.SortStableFunc(o.list, func(a, b object) int { return a.key.Compare(b.key) })
	contents := make([]map[string]any, 0, len(o.list))
	for i, item := range o.list {
		if i > 0 && o.list[i-1].key == item.key {
			return r, twice(o.list[i-1], item)
		}
		contents = append(contents, item.content)
	}
	encoded, err := json.Marshal(contents) // sorts the keys of maps
	if err != nil {
		return r, fmt.Errorf("encode the manifests: %w", err)
	}
	r.Objects, r.Count = encoded, len(contents)
	return r, nil
}

func twice(a, b object) error {
	other := fmt.Sprintf("%s:%d", a.place.file, a.place.line)
	switch {
	case a.place.line == 0 && a.place.file == b.place.file:
		other = "the same build"
	case a.place.line == 0:
		other = a.place.file
	}
	return &render.Error{
		Kind: render.KindBuild, File: b.place.file, Line: b.place.line, Message: fmt.Sprintf("%s is declared twice: also in %s; remove one", b.key, other),
	}
}
