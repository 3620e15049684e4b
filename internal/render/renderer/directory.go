package renderer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/gobwas/glob"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// skipMarker anywhere in a file leaves the file out, as in Argo CD.
var skipMarker = []byte("+argocd:skip-file-rendering")

// plainFolder collects the manifests of a folder. What it reads is the folder as
// a whole: a new file counts too.
func plainFolder(t *tree, folder string, options gitops.Directory) (render.Result, error) {
	result := render.Result{Renderer: render.RendererDirectory}
	t.note(folder)
	files, err := manifestFiles(t, folder, options)
	if err != nil {
		return result, err
	}
	var found objects
	for _, file := range files {
		text, err := t.read(file)
		if err != nil {
			return result, unreadable(t, file, err)
		}
		if bytes.Contains(text, skipMarker) {
			continue
		}
		if path.Ext(file) == ".jsonnet" {
			err = found.addJsonnet(t, file, options.Jsonnet)
		} else {
			err = found.addFile(file, text)
		}
		if err != nil {
			return result, err
		}
	}
	return found.result(result)
}

// unreadable is a file that was listed and cannot be read: a link that leads to
// nothing, or out of the repository.
func unreadable(t *tree, file string, err error) error {
	var fault *render.Error
	if errors.As(err, &fault) {
		return fault
	}
	message := err.Error()
	if target, linkErr := t.root.Readlink(file); linkErr == nil {
		message = fmt.Sprintf("it is a link to %s, which cannot be read; mend it, or leave it out with directory.exclude", target)
		if errors.Is(err, errOutside) {
			message = "it is a link that leads out of the repository, to " + target
		}
	}
	return &render.Error{Kind: render.KindPath, File: file, Message: message}
}

// manifestFiles lists the files that count, in order of their names.
func manifestFiles(t *tree, folder string, options gitops.Directory) ([]string, error) {
	include, err := pattern("include", options.Include)
	if err != nil {
		return nil, err
	}
	exclude, err := pattern("exclude", options.Exclude)
	if err != nil {
		return nil, err
	}
	var files []string
	err = fs.WalkDir(t.root.FS(), folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("list %s: %w", name, err)
		case entry.IsDir() && name != folder && !options.Recurse:
			return fs.SkipDir
		case entry.IsDir() || !isManifest(name) || t.isFolderLink(name, entry):
			return nil
		}
		relative := strings.TrimPrefix(name, folder+"/")
		if exclude(relative, false) || !include(relative, true) {
			return nil
		}
		files = append(files, name)
		return nil
	})
	return files, err
}

// isFolderLink says whether an entry links to a folder; those are not followed.
func (t *tree) isFolderLink(name string, entry fs.DirEntry) bool {
	return entry.Type() == fs.ModeSymlink && t.isFolder(name)
}

func isManifest(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json", ".jsonnet":
		return true
	default:
		return false
	}
}

// pattern reads one of Argo CD's globs: * and ? match slashes too, {a,b} is a
// choice. Without one the answer is the given one.
func pattern(option, text string) (match func(name string, without bool) bool, err error) {
	if text == "" {
		return func(_ string, without bool) bool { return without }, nil
	}
	g, err := compile(text)
	if err == nil && !isBalanced(text) {
		err = errors.New("a { or } is left over")
	}
	if err != nil {
		return nil, &render.Error{Kind: render.KindBuild, Message: fmt.Sprintf("directory.%s: %q is not a pattern: %v", option, text, err)}
	}
	return func(name string, _ bool) bool { return g.Match(name) }, nil
}

// compile turns a panic of the library, which some patterns cause, into an error.
func compile(text string) (g glob.Glob, err error) {
	defer func() {
		if p := recover(); p != nil {
			g, err = nil, fmt.Errorf("it cannot be read: %v", p)
		}
	}()
	return glob.Compile(text)
}

// isBalanced says whether every { has its }; the library takes the rest of a
// pattern that lacks one for something that never matches.
func isBalanced(text string) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}
