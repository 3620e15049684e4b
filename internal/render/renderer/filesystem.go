package renderer

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// mount is where Kustomize finds the checkout. It is not the root: a path that
// climbs out of the checkout must not come out in it again.
const mount = "/checkout"

// filesystem is what Kustomize sees: the checkout, read-only, with some files as
// the Application's options change them.
type filesystem struct {
	tree     *tree
	replaced map[string][]byte // by true path in the tree
	made     map[string][]byte // files that are not in the tree
}

var _ filesys.FileSystem = filesystem{}

// errReadOnly is what every attempt to change something gets.
var errReadOnly = errors.New("a render changes no files")

// inTree turns Kustomize's path into one of the tree.
func inTree(name string) (string, error) {
	name = path.Clean(filepath.ToSlash(name))
	if name == mount {
		return ".", nil
	}
	if relative, ok := strings.CutPrefix(name, mount+"/"); ok {
		return relative, nil
	}
	return "", fmt.Errorf("%s: %w", name, errOutside)
}

// CleanedAbs returns the true folder and the file's name in it; for a folder the
// name is empty.
func (f filesystem) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	relative, err := inTree(name)
	if err != nil {
		return "", "", err
	}
	if _, ok := f.made[relative]; ok {
		return filesys.ConfirmedDir(path.Join(mount, path.Dir(relative))), path.Base(relative), nil
	}
	place, info, err := f.tree.resolve(relative)
	if err != nil {
		return "", "", err
	}
	if info.IsDir() {
		return filesys.ConfirmedDir(path.Join(mount, place)), "", nil
	}
	dir, file := path.Split(path.Join(mount, place))
	return filesys.ConfirmedDir(path.Clean(dir)), file, nil
}

// ReadFile reads a file.
func (f filesystem) ReadFile(name string) ([]byte, error) {
	relative, err := inTree(name)
	if err != nil {
		return nil, err
	}
	if made, ok := f.made[relative]; ok {
		return made, nil
	}
	content, err := f.tree.read(relative)
	if err != nil {
		return nil, err
	}
	if changed, ok := f.replaced[relative]; ok {
		return changed, nil
	}
	return content, nil
}

// Exists says whether there is a file or a folder.
func (f filesystem) Exists(name string) bool {
	relative, err := inTree(name)
	if _, ok := f.made[relative]; ok {
		return true
	}
	return err == nil && (f.tree.isFile(relative) || f.tree.isFolder(relative))
}

// IsDir says whether there is a folder.
func (f filesystem) IsDir(name string) bool {
	relative, err := inTree(name)
	return err == nil && f.tree.isFolder(relative)
}

// ReadDir lists a folder.
func (f filesystem) ReadDir(name string) ([]string, error) {
	relative, err := inTree(name)
	if err != nil {
		return nil, err
	}
	place, _, err := f.tree.resolve(relative)
	if err != nil {
		return nil, err
	}
	f.tree.note(place)
	entries, err := f.tree.list(place)
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// Building needs none of the following.

// Open is refused.
func (filesystem) Open(name string) (filesys.File, error) { return nil, unused("open", name) }

// Glob is refused.
func (filesystem) Glob(pattern string) ([]string, error) { return nil, unused("glob", pattern) }

// Walk is refused.
func (filesystem) Walk(name string, _ filepath.WalkFunc) error { return unused("walk", name) }

// Create is refused.
func (filesystem) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir is refused.
func (filesystem) Mkdir(string) error { return errReadOnly }

// MkdirAll is refused.
func (filesystem) MkdirAll(string) error { return errReadOnly }

// RemoveAll is refused.
func (filesystem) RemoveAll(string) error { return errReadOnly }

// WriteFile is refused.
func (filesystem) WriteFile(string, []byte) error { return errReadOnly }

func unused(verb, name string) error {
	return fmt.Errorf("%s %s: a render only reads files: %w", verb, name, errors.ErrUnsupported)
}
