package renderer

import (
	"context"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// reference is a place in a kustomization that names something else.
type reference struct {
	file  string // the kustomization
	line  int
	field string
	value string
}

// target is the path that the reference names, in the tree.
func (r reference) target() string { return path.Join(path.Dir(r.file), r.value) }

// referencesOf lists what a kustomization refers to, and what those that it
// refers to do, in the order in which Kustomize comes to them; then what an
// Application's options add, which has no line in the file.
//
// What is named from elsewhere has a path in place of it, also in the options; a
// kustomization that was changed so is in the walker's changed. The error is
// errNeeds when something must be fetched first.
func referencesOf(ctx context.Context, t *tree, file string, options *gitops.Kustomize) (*walker, error) {
	w := &walker{ctx: ctx, tree: t, seen: map[string]bool{}, changed: map[string][]byte{}, made: map[string][]byte{}}
	if options != nil {
		w.kubeVersion, w.apiVersions = options.KubeVersion, options.APIVersions
	}
	err := w.kustomization(file)
	if err == nil && options != nil {
		err = w.options(file, options)
	}
	if err == nil && len(t.missing()) > 0 {
		err = errNeeds
	}
	return w, err
}

// options goes on with what an Application adds to a kustomization.
func (w *walker) options(file string, options *gitops.Kustomize) error {
	for i, p := range options.Patches {
		if p.Path != "" {
			if err := w.option(reference{file: file, field: "patches", value: p.Path}, &options.Patches[i].Path); err != nil {
				return err
			}
		}
	}
	for i, c := range options.Components {
		if err := w.option(reference{file: file, field: "components", value: c}, &options.Components[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) option(r reference, value *string) error {
	node := yaml.Node{Kind: yaml.ScalarNode, Value: r.value}
	there, err := w.replace(&r, "", &node)
	*value = node.Value
	w.found = append(w.found, r)
	if err != nil || !there {
		return err
	}
	return w.follow(r)
}

type walker struct {
	ctx     context.Context //nolint:containedctx // of one walk
	tree    *tree
	seen    map[string]bool
	found   []reference
	changed map[string][]byte // kustomizations
	made    map[string][]byte // files that stand for charts

	kubeVersion string // for charts
	apiVersions []string
}

func (w *walker) kustomization(file string) error {
	if w.seen[file] {
		return nil
	}
	w.seen[file] = true
	text, err := w.tree.read(file)
	if err != nil {
		return &render.Error{Kind: render.KindPath, File: file, Message: err.Error()}
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		line, message := explainYAML(err.Error())
		return &render.Error{Kind: render.KindParse, File: file, Line: line, Message: message}
	}
	if len(root.Content) == 0 {
		return nil
	}
	changed, err := w.inflate(file, root.Content[0])
	if err != nil {
		return err
	}
	for field, value := range fields(root.Content[0]) {
		differs, err := w.collect(file, field, value)
		if err != nil {
			return err
		}
		changed = changed || differs
	}
	if !changed {
		return nil
	}
	w.changed[file], err = yaml.Marshal(&root)
	return err
}

// follow goes on in a folder that is referred to. One that is not there, or has
// not one kustomization, is Kustomize's to refuse.
func (w *walker) follow(r reference) error {
	if !mayBeFolder[r.field] || !w.tree.isFolder(r.target()) {
		return nil
	}
	place, _, err := w.tree.resolve(r.target())
	if err != nil {
		return nil //nolint:nilerr // it is not there any more
	}
	if files := w.tree.kustomizations(place); len(files) == 1 {
		return w.kustomization(files[0])
	}
	return nil
}

// mayBeFolder are the fields whose entries may be kustomizations, or Git
// repositories with one.
var mayBeFolder = map[string]bool{
	"resources": true, "bases": true, "components": true, "generators": true, "transformers": true, "validators": true,
}

// entriesOf says for each field of a kustomization how its entries name files:
// directly (""), or in a field of theirs.
var entriesOf = map[string][]string{
	"resources": {""}, "bases": {""}, "components": {""}, "generators": {""}, "transformers": {""}, "validators": {""},
	"crds": {""}, "configurations": {""}, "patchesStrategicMerge": {""}, "openapi": {"path"},
	"patches": {"path"}, "patchesJson6902": {"path"}, "replacements": {"path"},
	"configMapGenerator": {"files", "envs", "env"}, "secretGenerator": {"files", "envs", "env"},
}

// collect follows what a field names. It says whether it has changed it.
func (w *walker) collect(file, field string, value *yaml.Node) (changed bool, err error) {
	for _, inner := range entriesOf[field] {
		for _, entry := range list(value) {
			names := []*yaml.Node{entry}
			if inner != "" {
				names = list(child(entry, inner))
			}
			for _, name := range names {
				if name.Kind != yaml.ScalarNode || strings.Contains(name.Value, "\n") || name.Value == "" {
					continue // written in place
				}
				before := name.Value
				if err := w.reference(file, field, inner, name); err != nil {
					return false, err
				}
				changed = changed || name.Value != before
			}
		}
	}
	return changed, nil
}

func (w *walker) reference(file, field, inner string, name *yaml.Node) error {
	r, key := reference{file: file, line: name.Line, field: field, value: name.Value}, ""
	if _, ok := w.made[r.target()]; ok {
		return nil
	}
	if before, value, ok := strings.Cut(r.value, "="); ok && inner == "files" {
		key, r.value = before+"=", value
	}
	there, err := w.replace(&r, key, name)
	w.found = append(w.found, r)
	if err != nil || !there {
		return err
	}
	return w.follow(r)
}

// list is a sequence's entries; anything else is a list of one.
func list(node *yaml.Node) []*yaml.Node {
	switch {
	case node == nil:
		return nil
	case node.Kind == yaml.AliasNode:
		return list(node.Alias)
	case node.Kind == yaml.SequenceNode:
		return node.Content
	default:
		return []*yaml.Node{node}
	}
}

// child is the value of a mapping's key; nil when there is none.
func child(node *yaml.Node, key string) *yaml.Node {
	for name, value := range fields(node) {
		if name == key {
			return value
		}
	}
	return nil
}

// fields are the keys and values of a mapping, in order.
func fields(node *yaml.Node) func(yield func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		if node.Kind == yaml.AliasNode {
			node = node.Alias
		}
		if node.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if !yield(node.Content[i].Value, node.Content[i+1]) {
				return
			}
		}
	}
}
