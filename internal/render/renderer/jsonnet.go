package renderer

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-jsonnet"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// addJsonnet evaluates a file and adds what it results in: an object, or a list
// of objects, as Argo CD does.
func (o *objects) addJsonnet(t *tree, file string, options *gitops.Jsonnet) error {
	if options == nil {
		options = &gitops.Jsonnet{}
	}
	text, err := newVM(t, *options).EvaluateFile(file)
	if err != nil {
		return explainJsonnet(file, err)
	}
	content, err := decodeJSON([]byte(text))
	if err != nil {
		return fmt.Errorf("decode what %s evaluates to: %w", file, err)
	}
	list, ok := content.([]any)
	if !ok {
		list = []any{content}
	}
	for _, item := range list {
		if err := o.add(place{file: file}, item); err != nil {
			return err
		}
	}
	return nil
}

func newVM(t *tree, options gitops.Jsonnet) *jsonnet.VM {
	vm := jsonnet.MakeVM()
	vm.Importer(&importer{tree: t, libs: options.Libs, known: map[string]jsonnet.Contents{}})
	for _, v := range options.ExtVars {
		if v.Code {
			vm.ExtCode(v.Name, v.Value)
		} else {
			vm.ExtVar(v.Name, v.Value)
		}
	}
	for _, v := range options.TLAs {
		if v.Code {
			vm.TLACode(v.Name, v.Value)
		} else {
			vm.TLAVar(v.Name, v.Value)
		}
	}
	return vm
}

// importer finds imports beside the file that names them, then in the libraries,
// the last one first. It never looks outside of the checkout.
type importer struct {
	tree  *tree
	libs  []string
	known map[string]jsonnet.Contents
}

// Import implements jsonnet.Importer.
func (i *importer) Import(from, name string) (jsonnet.Contents, string, error) {
	if path.IsAbs(name) {
		return jsonnet.Contents{}, "", fmt.Errorf("import of %s: write a path within the repository", name)
	}
	places := []string{path.Join(path.Dir(from), name)}
	for _, lib := range slices.Backward(i.libs) {
		places = append(places, path.Join(strings.TrimPrefix(lib, "/"), name))
	}
	for _, place := range places {
		if contents, ok := i.known[place]; ok {
			return contents, place, nil
		}
		text, err := i.tree.read(place)
		switch {
		case err == nil:
			i.known[place] = jsonnet.MakeContentsRaw(text)
			return i.known[place], place, nil
		case !errors.Is(err, fs.ErrNotExist):
			return jsonnet.Contents{}, "", fmt.Errorf("import of %s: %w", name, err)
		}
	}
	return jsonnet.Contents{}, "", fmt.Errorf("import of %s: it is not in the repository%s; looked for %s", name, i.tree.nearby(places[0]), strings.Join(places, ", "))
}

// jsonnetPlace is a file and a line in a message of the evaluator, as in
// "app/a.jsonnet:3:5-10" and "app/a.jsonnet:(1:2)-(3:4)".
var jsonnetPlace = regexp.MustCompile(`(?m)(?:^|\s)([^\s:]+):\(?(\d+):\d+`)

// explainJsonnet gives an error the file and line that it is about. What a
// program says with error is shown, what the evaluator quotes is not.
func explainJsonnet(file string, err error) error {
	fault := &render.Error{Kind: render.KindBuild, File: file}
	message := err.Error()
	if m := jsonnetPlace.FindStringSubmatch(message); m != nil {
		fault.File = m[1]
		fault.Line, _ = strconv.Atoi(m[2])
	}
	first, _, _ := strings.Cut(message, "\n")
	first = strings.TrimPrefix(first, "RUNTIME ERROR: ")
	if loc := jsonnetPlace.FindStringIndex(first); loc != nil {
		if _, rest, found := strings.Cut(first[loc[0]:], " "); found {
			first = rest
		}
	}
	fault.Message = "Jsonnet: " + quoted.ReplaceAllString(first, "…")
	return fault
}
