package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// objects collects Kubernetes objects and where they come from.
type objects struct {
	list []object
}

type object struct {
	key     gitops.ObjectKey
	version string
	file    string
	content map[string]any
}

// parse adds the documents of one file.
func (o *objects) parse(file string, text []byte) error {
	reader := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	line := 1
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &render.Error{Kind: render.KindParse, File: file, Line: line, Message: err.Error()}
		}
		if err := o.parseDocument(file, line, document); err != nil {
			return err
		}
		line += bytes.Count(document, []byte("\n")) + 1
	}
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

func (o *objects) parseDocument(file string, first int, document []byte) error {
	var content any
	if err := yaml.Unmarshal(document, &content); err != nil {
		message, line := err.Error(), first
		if m := yamlLine.FindStringSubmatch(message); m != nil {
			n, _ := strconv.Atoi(m[1])
			line, message = first+n-1, yamlLine.ReplaceAllString(message, "")
		}
		message = strings.TrimPrefix(strings.TrimPrefix(message, "error converting YAML to JSON: "), "yaml: ")
		return &render.Error{Kind: render.KindParse, File: file, Line: line, Message: "this is not YAML: " + message}
	}
	if content == nil {
		return nil
	}
	mapping, ok := content.(map[string]any)
	if !ok {
		return &render.Error{Kind: render.KindParse, File: file, Line: first, Message: "this document is no Kubernetes object: it has no apiVersion and kind"}
	}
	return o.add(file, first, mapping)
}

// add takes one object, or the members of a List.
func (o *objects) add(file string, line int, content map[string]any) error {
	version, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	if items, ok := content["items"].([]any); ok && strings.HasSuffix(kind, "List") {
		for _, item := range items {
			member, _ := item.(map[string]any)
			if err := o.add(file, line, member); err != nil {
				return err
			}
		}
		return nil
	}
	meta, _ := content["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	generate, _ := meta["generateName"].(string)
	for field, value := range map[string]string{"apiVersion": version, "kind": kind, "metadata.name": name + generate} {
		if value == "" {
			return &render.Error{Kind: render.KindParse, File: file, Line: line, Message: "this document is no Kubernetes object: " + field + " is missing"}
		}
	}
	namespace, _ := meta["namespace"].(string)
	group, _, found := strings.Cut(version, "/")
	if !found {
		group = ""
	}
	o.list = append(o.list, object{key: gitops.ObjectKey{Group: group, Kind: kind, Namespace: namespace, Name: name}, version: version, file: file, content: content})
	return nil
}

// result is the objects as a canonical list.
func (o *objects) result(r render.Result) (render.Result, error) {
	slices.SortStableFunc(o.list, func(a, b object) int { return a.key.Compare(b.key) })
	contents := make([]map[string]any, 0, len(o.list))
	for i, item := range o.list {
		if i > 0 && item.key.Name != "" && o.list[i-1].key == item.key {
			return r, &render.Error{Kind: render.KindBuild, File: item.file, Message: fmt.Sprintf("%s is declared twice, also in %s", item.key, o.list[i-1].file)}
		}
		contents = append(contents, item.content)
	}
	encoded, err := json.Marshal(contents)
	if err != nil {
		return r, fmt.Errorf("encode the manifests: %w", err)
	}
	r.Objects, r.Count = encoded, len(contents)
	return r, nil
}
