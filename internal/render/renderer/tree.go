package renderer

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

const (
	maxFile  = 32 << 20 // bytes of one file
	maxLinks = 40       // on the way to one file
)

// tree is a checkout. Paths in it are slash-separated and relative; nothing
// outside of it can be opened, whatever links say. It notes every path that was
// looked at, absent ones included, so that whoever asks later knows what a
// result depends on.
type tree struct {
	root  *os.Root
	reads map[string]bool
	*mounted
}

func openTree(dir, mounts string) (*tree, error) {
	return openIn(dir, &mounted{dir: mounts, refs: map[string]*tree{}, needs: map[string]gitops.Need{}})
}

func openIn(dir string, others *mounted) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the checkout: %w", err)
	}
	return &tree{root: root, reads: map[string]bool{}, mounted: others}, nil
}

func (t *tree) note(name string) {
	place, name := t.graft(name)
	place.reads[name] = true
}

// paths are the noted ones, sorted, without those in a noted folder.
func (t *tree) paths() []string {
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(t.reads)) {
		if !t.inNotedFolder(name) {
			paths = append(paths, name)
		}
	}
	return paths
}

func (t *tree) inNotedFolder(name string) bool {
	for parent := name; parent != "."; {
		parent = path.Dir(parent)
		if !t.reads[parent] {
			continue
		}
		if info, err := t.root.Lstat(parent); err == nil && info.IsDir() {
			return true
		}
	}
	return false
}

// errOutside is a path or link that leads out of the repository.
var errOutside = errors.New("it leads out of the repository")

// resolve follows the links on the way to a path. It notes them, and the path
// where it does not exist (fs.ErrNotExist), but not the path that it returns.
func (t *tree) resolve(name string) (place string, info fs.FileInfo, err error) {
	if other, inside := t.graft(name); other != t {
		place, info, err = other.resolve(inside)
		return path.Join(strings.TrimSuffix(path.Clean(name), inside), place), info, err
	}
	place, rest, links := ".", strings.Split(name, "/"), 0
	if _, err = t.root.Lstat("."); err != nil {
		return "", nil, err
	}
	for len(rest) > 0 {
		step := rest[0]
		rest = rest[1:]
		switch {
		case step == "" || step == ".":
			continue
		case step == ".." && place == ".":
			return "", nil, fmt.Errorf("%s: %w", name, errOutside)
		case step == "..":
			place = path.Dir(place)
			continue
		}
		next := path.Join(place, step)
		if info, err = t.root.Lstat(next); err != nil {
			t.note(path.Join(append([]string{next}, rest...)...))
			return "", nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
		}
		if info.Mode().Type() != fs.ModeSymlink {
			place = next
			continue
		}
		t.note(next)
		if links++; links > maxLinks {
			return "", nil, fmt.Errorf("%s: too many links", name)
		}
		target, err := t.root.Readlink(next)
		if err != nil {
			return "", nil, err
		}
		if path.IsAbs(target) {
			return "", nil, fmt.Errorf("%s: %w", name, errOutside)
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	info, err = t.root.Lstat(place)
	return place, info, err
}

// read returns a file's content and notes it.
func (t *tree) read(name string) ([]byte, error) {
	place, info, err := t.resolve(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder", name)
	}
	t.note(place)
	if info.Size() > maxFile {
		return nil, &render.Error{Kind: render.KindTooLarge, File: name, Message: fmt.Sprintf("it has more than %d MiB", maxFile>>20)}
	}
	other, inside := t.graft(place)
	return other.root.ReadFile(inside)
}

// list returns what is in a folder, whose path must be a true one.
func (t *tree) list(place string) ([]fs.DirEntry, error) {
	other, inside := t.graft(place)
	return fs.ReadDir(other.root.FS(), inside)
}

// isFile says whether there is a file, and notes the path.
func (t *tree) isFile(name string) bool {
	place, info, err := t.resolve(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	t.note(place)
	return true
}

// isFolder notes nothing of a folder that is there: only what is read in it counts.
func (t *tree) isFolder(name string) bool {
	_, info, err := t.resolve(name)
	return err == nil && info.IsDir()
}

// folder returns the true path of a folder that an Application names.
func (t *tree) folder(name string) (string, error) {
	place, info, err := t.resolve(name)
	fault := &render.Error{Kind: render.KindPath, File: name}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fault.Message = "there is no such folder in the repository" + t.nearby(name)
	case errors.Is(err, errOutside):
		fault.Message = errOutside.Error()
	case err != nil:
		fault.Message = err.Error()
	case !info.IsDir():
		t.note(place)
		fault.Message = "it is a file; an Application names a folder"
	default:
		return place, nil
	}
	return "", fault
}
