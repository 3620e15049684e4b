package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/render"
)

// tree is a checkout. Paths in it are slash-separated and relative; nothing
// outside of it can be opened, whatever links say.
type tree struct {
	root *os.Root
	dir  string
}

func openTree(dir string) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the checkout: %w", err)
	}
	return &tree{root: root, dir: dir}, nil
}

func join(parts ...string) string { return path.Join(parts...) }

// folder returns the clean form of a path that is a folder.
func (t *tree) folder(name string) (string, error) {
	clean := path.Clean(strings.Trim(name, "/"))
	if name == "" || clean == "." {
		return ".", nil
	}
	info, err := t.root.Stat(clean)
	if err == nil && info.IsDir() {
		return clean, nil
	}
	message := "there is no such folder in the repository"
	if near := t.neighbours(clean); len(near) > 0 {
		message += "; there is " + strings.Join(near, ", ")
	}
	return "", &render.Error{Kind: render.KindPath, File: name, Message: message}
}

// neighbours are the folders beside a path that is not there.
func (t *tree) neighbours(name string) []string {
	parent := path.Dir(name)
	entries, err := fs.ReadDir(t.root.FS(), parent)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, join(parent, e.Name()))
		}
	}
	slices.Sort(names)
	return names[:min(len(names), 5)]
}

func (t *tree) isFile(name string) bool {
	info, err := t.root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func (t *tree) read(name string) ([]byte, error) { return t.root.ReadFile(name) }

// kustomization returns the file that makes a folder a Kustomize one.
func (t *tree) kustomization(folder string) (string, bool) {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if file := join(folder, name); t.isFile(file) {
			return file, true
		}
	}
	return "", false
}
