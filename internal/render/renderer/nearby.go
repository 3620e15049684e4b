package main

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"
)

const nearbyCount = 3

// nearby names what is most like a path that is not there, in the deepest folder
// of it that is; empty when there is nothing.
func (t *tree) nearby(name string) string {
	parent := path.Dir(path.Clean(name))
	for parent != "." && !t.isFolder(parent) {
		parent = path.Dir(parent)
	}
	entries, err := fs.ReadDir(t.root.FS(), parent)
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, path.Join(parent, e.Name()))
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(distance(name, a), distance(name, b)) })
	if len(names) == 0 {
		return ""
	}
	return "; near it: " + strings.Join(names[:min(len(names), nearbyCount)], ", ")
}

// distance counts the characters to insert, delete or replace. Only the start of
// very long names is compared.
func distance(a, b string) int {
	const limit = 200
	a, b = a[:min(len(a), limit)], b[:min(len(b), limit)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
