package checkout

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

type kept struct {
	dir  string
	size int64
	used time.Time
}

// sweep removes the trees that were used longest ago until the rest has room,
// and what was left half unpacked by a process that died.
func (c *Cache) sweep() error {
	trees, err := c.list()
	if err != nil {
		return err
	}
	room := c.MaxBytes
	if room == 0 {
		room = defaultKept
	}
	slices.SortFunc(trees, func(a, b kept) int { return b.used.Compare(a.used) }) // newest first
	for _, t := range trees {
		if room -= t.size; room < 0 {
			err = errors.Join(err, remove(t.dir))
		}
	}
	return err
}

func (c *Cache) list() ([]kept, error) {
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return nil, err
	}
	var trees []kept
	for _, e := range entries {
		dir := filepath.Join(c.Dir, e.Name())
		if strings.HasPrefix(e.Name(), halfPrefix) {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > halfExpires {
				_ = os.RemoveAll(dir) // the next sweep tries again
			}
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, sizeFile)) //nolint:gosec // below the cache's own folder
		if err != nil {
			continue // another process removes it
		}
		info, err := os.Stat(filepath.Join(dir, sizeFile))
		if err != nil {
			continue
		}
		size, _ := strconv.ParseInt(string(text), 10, 64)
		trees = append(trees, kept{dir, size, info.ModTime()})
	}
	return trees, nil
}

// remove removes a tree that nobody uses. Its name goes first, so that nobody
// finds half a tree under it.
func remove(dir string) error {
	size := filepath.Join(dir, sizeFile)
	lock, err := os.Open(size) //nolint:gosec // below the cache's own folder
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if free, err := tryLock(lock); err != nil || !free {
		return err
	}
	if err := stillNamed(lock, size); errors.Is(err, fs.ErrNotExist) {
		return nil // another has removed it, and maybe a third made it anew
	} else if err != nil {
		return err
	}
	gone, err := os.MkdirTemp(filepath.Dir(dir), halfPrefix)
	if err != nil {
		return err
	}
	if err := os.Rename(dir, filepath.Join(gone, "tree")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(gone)
}
