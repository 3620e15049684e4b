package render

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// Fingerprint is the Digest of a read set in an unpacked checkout. It costs a
// read of the files, not a render.
func Fingerprint(tree string, reads []string) (string, error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return "", fmt.Errorf("open the checkout: %w", err)
	}
	defer func() { _ = root.Close() }()
	t := fingerprinter{root: root}
	digest := Digest(reads, func(name string) (string, bool) {
		h, err := t.hash(path.Clean(name))
		switch {
		case errors.Is(err, fs.ErrNotExist), isNotFolder(err):
			return "", false
		case err != nil && t.err == nil:
			t.err = fmt.Errorf("read %s: %w", name, err)
		}
		return h, true
	})
	return digest, t.err
}

type fingerprinter struct {
	root *os.Root
	err  error // the first one that does not mean absence
}

// hash does not follow a link: the link itself counts, and what it leads to is in
// the read set under its own name.
func (t *fingerprinter) hash(name string) (string, error) {
	info, err := t.root.Lstat(name)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	switch {
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := t.root.Readlink(name)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(sum, "link %q", target)
	case info.IsDir():
		if err := t.folder(sum, name); err != nil {
			return "", err
		}
	default:
		file, err := t.root.Open(name)
		if err != nil {
			return "", err
		}
		defer func() { _ = file.Close() }()
		if _, err := io.Copy(sum, file); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (t *fingerprinter) folder(sum io.Writer, name string) error {
	entries, err := fs.ReadDir(t.root.FS(), name) // sorted
	if err != nil {
		return err
	}
	for _, e := range entries {
		h, err := t.hash(path.Join(name, e.Name()))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(sum, "%q %s %s\n", e.Name(), e.Type(), h); err != nil {
			return err
		}
	}
	return nil
}
