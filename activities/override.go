package activities

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/tidegate/tidegate/internal/catalog"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// overrideNames are the files in a source's folder that go over the options of an
// Application, the later over the earlier (Argo CD's "parameter overrides").
func overrideNames(s gitops.Source, app string) []string {
	return []string{path.Join(s.Path, ".argocd-source.yaml"), path.Join(s.Path, ".argocd-source-"+app+".yaml")}
}

// maxOverride bounds one of them, in bytes: it is read outside of the sandbox.
const maxOverride = 256 << 10

// override puts what such files say over a source's options.
func override(s gitops.Source, tree, app string) (gitops.Source, error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return s, fmt.Errorf("open the checkout: %w", err)
	}
	defer func() { _ = root.Close() }()
	for _, name := range overrideNames(s, app) {
		info, err := root.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.Size() > maxOverride {
			return s, &render.Error{Kind: render.KindTooLarge, File: name, Message: fmt.Sprintf("it has more than %d KiB", maxOverride>>10)}
		}
		var text []byte
		if err == nil {
			text, err = root.ReadFile(name)
		}
		if err != nil {
			return s, &render.Error{Kind: render.KindPath, File: name, Message: "it cannot be read: " + err.Error()}
		}
		options, problem := catalog.ReadOverride(name, text)
		if problem != nil {
			return s, &render.Error{Kind: render.KindParse, File: name, Line: problem.Line, Message: problem.Message}
		}
		if s, err = merge(s, options); err != nil {
			return s, fmt.Errorf("put %s over the options: %w", name, err)
		}
	}
	return s, nil
}

// merge puts options over others: field by field, lists as a whole.
func merge(s, options gitops.Source) (gitops.Source, error) {
	type optionsOnly struct {
		Directory *gitops.Directory `json:"directory,omitempty"`
		Kustomize *gitops.Kustomize `json:"kustomize,omitempty"`
		Helm      *gitops.Helm      `json:"helm,omitempty"`
		Plugin    *gitops.Plugin    `json:"plugin,omitempty"`
	}
	before, err := json.Marshal(optionsOnly{s.Directory, s.Kustomize, s.Helm, s.Plugin})
	if err != nil {
		return s, err
	}
	patch, err := json.Marshal(optionsOnly{options.Directory, options.Kustomize, options.Helm, options.Plugin})
	if err != nil {
		return s, err
	}
	merged, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return s, err
	}
	var after optionsOnly
	err = json.Unmarshal(merged, &after)
	s.Directory, s.Kustomize, s.Helm, s.Plugin = after.Directory, after.Kustomize, after.Helm, after.Plugin
	return s, err
}
