package renderer

import (
	"path"
	"strings"

	"github.com/tidegate/tidegate/internal/spelling"
)

const nearbyCount = 3

// nearby names what is most like a path that is not there, in the deepest folder
// of it that is; empty when there is nothing.
func (t *tree) nearby(name string) string {
	parent := path.Dir(path.Clean(name))
	for parent != "." && !t.isFolder(parent) {
		parent = path.Dir(parent)
	}
	entries, err := t.list(parent)
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, path.Join(parent, e.Name()))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; near it: " + strings.Join(spelling.Closest(name, names, nearbyCount), ", ")
}
