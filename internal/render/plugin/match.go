package plugin

import (
	"io/fs"
	"path"

	"github.com/bmatcuk/doublestar/v4"
)

// Match says whether a folder has the files that a plugin is for. It is false for
// a plugin that a command of its own decides about.
func (d Discover) Match(folder fs.FS) (bool, error) {
	switch {
	case d.FileName != "":
		found, err := fs.Glob(folder, path.Clean(d.FileName))
		return len(found) > 0, err
	case d.Glob != "":
		found, err := doublestar.Glob(folder, path.Clean(d.Glob), doublestar.WithNoFollow())
		return len(found) > 0, err
	default:
		return false, nil
	}
}
