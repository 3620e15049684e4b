package main

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gobwas/glob"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// skipMarker in a comment leaves a file out, as in Argo CD.
const skipMarker = "+argocd:skip-file-rendering"

// plainFolder collects the manifests of a folder. What it reads is the folder as
// a whole: a new file counts too.
func plainFolder(t *tree, folder string, options *gitops.Directory) (render.Result, error) {
	result := render.Result{Renderer: render.RendererDirectory, Reads: []string{folder}}
	if options == nil {
		options = &gitops.Directory{}
	}
	files, err := manifestFiles(t, folder, *options)
	if err != nil {
		return result, err
	}
	var found objects
	for _, file := range files {
		text, err := t.read(file)
		if err != nil {
			return result, fmt.Errorf("read %s: %w", file, err)
		}
		if strings.Contains(string(text), skipMarker) {
			continue
		}
		if err := found.parse(file, text); err != nil {
			return result, err
		}
	}
	return found.result(result)
}

// manifestFiles lists the files that count, sorted.
func manifestFiles(t *tree, folder string, options gitops.Directory) ([]string, error) {
	include, err := pattern(options.Include)
	if err != nil {
		return nil, err
	}
	exclude, err := pattern(options.Exclude)
	if err != nil {
		return nil, err
	}
	var files []string
	err = fs.WalkDir(t.root.FS(), folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != folder && (!options.Recurse || strings.HasPrefix(entry.Name(), ".git")):
			return fs.SkipDir
		case entry.IsDir() || !isManifest(name):
			return nil
		}
		relative := strings.TrimPrefix(name, folder+"/")
		if (include == nil || include.Match(relative)) && (exclude == nil || !exclude.Match(relative)) {
			files = append(files, name)
		}
		return nil
	})
	slices.Sort(files)
	return files, err
}

func isManifest(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	default:
		return false
	}
}

func pattern(text string) (glob.Glob, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no pattern is a value here
	}
	g, err := glob.Compile(text)
	if err != nil {
		return nil, &render.Error{Kind: render.KindBuild, Message: fmt.Sprintf("directory pattern %q: %v", text, err)}
	}
	return g, nil
}
