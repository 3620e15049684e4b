package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Fingerprint digests what is at the given paths of a tree: files, folders with
// everything below them, and the fact that something is absent. Equal
// fingerprints of a read set mean that a render would read the same.
func Fingerprint(tree string, reads []string) (string, error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return "", err
	}
	defer root.Close() //nolint:errcheck // read only
	h := sha256.New()
	for _, path := range reads {
		if err := digestPath(h, root, path); err != nil {
			return "", fmt.Errorf("digest %s: %w", path, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func digestPath(h hash.Hash, root *os.Root, path string) error {
	path = filepath.Clean(path)
	info, err := root.Stat(path)
	switch {
	case err != nil:
		_, err = fmt.Fprintf(h, "absent %q\n", path)
		return err
	case !info.IsDir():
		return digestFile(h, root, path)
	}
	return fs.WalkDir(root.FS(), filepath.ToSlash(path), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return digestFile(h, root, name)
	})
}

func digestFile(h hash.Hash, root *os.Root, name string) error {
	file, err := root.Open(name)
	if err != nil {
		_, err = fmt.Fprintf(h, "unreadable %q\n", name)
		return err
	}
	defer file.Close() //nolint:errcheck // read only
	content := sha256.New()
	if _, err := io.Copy(content, file); err != nil {
		return err
	}
	_, err = fmt.Fprintf(h, "file %q %x\n", name, content.Sum(nil))
	return err
}
