package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// recorder is the file system that Kustomize sees: the checkout, with the top
// kustomization as the Application's options change it. It notes every path
// that was read, or looked for and not found.
type recorder struct {
	filesys.FileSystem
	tree     string
	reads    map[string]bool
	replaced map[string][]byte // by absolute path
}

func (r *recorder) note(path string) {
	if relative, err := filepath.Rel(r.tree, path); err == nil && !strings.HasPrefix(relative, "..") {
		r.reads[filepath.ToSlash(relative)] = true
	}
}

// paths are the noted ones, sorted.
func (r *recorder) paths() []string { return slices.Sorted(maps.Keys(r.reads)) }

// ReadFile notes and reads a file.
func (r *recorder) ReadFile(path string) ([]byte, error) {
	r.note(path)
	if content, ok := r.replaced[path]; ok && content != nil {
		return content, nil
	}
	return r.FileSystem.ReadFile(path)
}

// Exists notes what is not there: it would matter if it appeared.
func (r *recorder) Exists(path string) bool {
	exists := r.FileSystem.Exists(path)
	if !exists {
		r.note(path)
	}
	return exists
}

// Glob notes the folder, since a new file in it may match.
func (r *recorder) Glob(pattern string) ([]string, error) {
	r.note(filepath.Dir(pattern))
	return r.FileSystem.Glob(pattern)
}

// ReadDir notes the folder.
func (r *recorder) ReadDir(path string) ([]string, error) {
	r.note(path)
	return r.FileSystem.ReadDir(path)
}

// Walk notes the folder.
func (r *recorder) Walk(path string, walk filepath.WalkFunc) error {
	r.note(path)
	return r.FileSystem.Walk(path, walk)
}
