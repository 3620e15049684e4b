package checkout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Cache is a folder of unpacked checkouts. The zero value with a Dir is ready.
type Cache struct {
	Dir string
	// MaxBytes is how much may be kept; 4 GiB when it is zero. What is in use stays
	// in any case.
	MaxBytes int64
	Limits   Limits // of one checkout
}

const (
	defaultKept = 4 << 30
	sizeFile    = "size" // beside the tree: its bytes; its time is that of the last use
	treeFolder  = "tree"
	halfPrefix  = "half-"
	halfExpires = time.Hour // longer than any unpacking
	tries       = 100       // to make a tree that other processes remove again at once
)

// Tree is an unpacked checkout, which nobody changes or removes until Close.
type Tree struct {
	Dir  string
	lock *os.File
}

// Close gives the tree back.
func (t *Tree) Close() error { return t.lock.Close() }

// Open returns the checkout with this digest, fetching and unpacking it when it
// is not there. An archive that may not be unpacked is ErrRefused.
func (c *Cache) Open(ctx context.Context, digest string, fetch func(context.Context, string) ([]byte, error)) (*Tree, error) {
	dir := filepath.Join(c.Dir, strings.ReplaceAll(digest, ":", "-"))
	if name := filepath.Base(dir); !filepath.IsLocal(name) || filepath.Dir(dir) != filepath.Clean(c.Dir) {
		return nil, fmt.Errorf("open checkout %q: that is no digest", digest)
	}
	for range tries {
		if tree, err := use(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return tree, err
		}
		archive, err := fetch(ctx, digest)
		if err != nil {
			return nil, fmt.Errorf("read checkout %s: %w", digest, err)
		}
		if err := c.unpack(dir, archive); err != nil {
			return nil, fmt.Errorf("checkout %s: %w", digest, err)
		}
		tree, err := use(dir)
		if errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			continue // another process has removed it already
		}
		if err != nil {
			return nil, err
		}
		return tree, c.sweep()
	}
	return nil, fmt.Errorf("checkout %s: %s is removed as often as it is made; remove the folder, and give the cache more room", digest, dir)
}

// use takes a tree that is there. Only a complete one has its name.
func use(dir string) (*Tree, error) {
	size := filepath.Join(dir, sizeFile)
	lock, err := os.Open(size) //nolint:gosec // below the cache's own folder
	if err != nil {
		return nil, err
	}
	if err := lockShared(lock); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if err := stillNamed(lock, size); err != nil { // it was removed before the lock was taken
		return nil, errors.Join(err, lock.Close())
	}
	now := time.Now()
	if err := os.Chtimes(size, now, now); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &Tree{Dir: filepath.Join(dir, treeFolder), lock: lock}, nil
}

// stillNamed says whether an open file is the one that has this name; it is
// fs.ErrNotExist when another has, or none.
func stillNamed(f *os.File, name string) error {
	held, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !os.SameFile(held, named) {
		return fmt.Errorf("%s was replaced: %w", name, fs.ErrNotExist)
	}
	return nil
}

// unpack puts an unpacked archive where dir is. It is no error that another
// process did so first.
func (c *Cache) unpack(dir string, archive []byte) error {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil { //nolint:gosec // a sandbox has other users
		return err
	}
	half, err := os.MkdirTemp(c.Dir, halfPrefix)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(half) }() // what another process sweeps when this one dies
	tree := filepath.Join(half, treeFolder)
	if err := errors.Join(os.Chmod(half, 0o755), os.Mkdir(tree, 0o755)); err != nil { //nolint:gosec // as above
		return err
	}
	size, err := Unpack(tree, bytes.NewReader(archive), c.Limits)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(half, sizeFile), strconv.AppendInt(nil, size, 10), 0o600); err != nil {
		return err
	}
	if err := os.Rename(half, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
