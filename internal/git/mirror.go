package git

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/tidegate/tidegate/internal/gitops"
)

const (
	maxOpenMirrors = 64 // with their indexes in memory
	maxOpenPacks   = 4  // file descriptors of each
	objectCache    = 8 * cache.MiByte
)

// mirror is one repository's folder. go-git's storage is not safe for several
// goroutines and never looks at new packs, so it is opened anew after a change,
// and kept open for the many short reads between.
type mirror struct {
	dir  string
	lock *writeLock // held by whoever adds packs or replaces the folder

	// folder is held for reading by everybody who reads, for writing while the
	// folder is replaced.
	folder sync.RWMutex

	mu       sync.Mutex // guards store, and is held while it is used
	store    *filesystem.Storage
	lastUsed atomic.Int64 // unix nanoseconds
}

var unsafeInName = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)

// mirror returns the mirror of a repository; nothing of it need exist on disk.
func (m *Mirrors) mirror(repository gitops.Repository) *mirror {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.mirrors[repository.Identity]
	if !ok {
		sum := sha256.Sum256([]byte(repository.Identity))
		name := unsafeInName.ReplaceAllString(repository.Identity, "-")
		name = name[:min(len(name), 80)] + "-" + hex.EncodeToString(sum[:8]) + ".git"
		dir := filepath.Join(m.options.Dir, name)
		found = &mirror{dir: dir, lock: newWriteLock(dir + ".lock")}
		m.mirrors[repository.Identity] = found
	}
	found.lastUsed.Store(time.Now().UnixNano())
	m.closeOldest()
	return found
}

// closeOldest keeps the number of open mirrors bounded. m.mu is held.
func (m *Mirrors) closeOldest() {
	var oldest *mirror
	open := 0
	for _, c := range m.mirrors {
		if !c.mu.TryLock() {
			continue // in use
		}
		if c.store != nil {
			open++
			if oldest == nil || c.lastUsed.Load() < oldest.lastUsed.Load() {
				oldest = c
			}
		}
		c.mu.Unlock()
	}
	if open > maxOpenMirrors {
		oldest.forget()
	}
}

// openStore returns a storage for one goroutine, to be closed. It sees what is in
// the folder now, and later what it writes itself.
func openStore(dir string) *filesystem.Storage {
	return filesystem.NewStorageWithOptions(packsOnly{osfs.New(dir)}, cache.NewObjectLRU(objectCache),
		filesystem.Options{MaxOpenDescriptors: maxOpenPacks})
}

// packsOnly is a mirror's folder. go-git looks for a file of its own before it
// looks into packs, for every object; mirrors have no such files, and not asking
// the disk makes reading many small objects several times faster.
type packsOnly struct{ billy.Filesystem }

var looseObject = regexp.MustCompile(`^objects/[0-9a-f]{2}/`)

// Open implements billy.Basic.
func (p packsOnly) Open(name string) (billy.File, error) {
	if looseObject.MatchString(name) {
		return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
	}
	return p.Filesystem.Open(name)
}

// use runs a short read on the shared storage.
func (r *mirror) use(read func(*filesystem.Storage) error) error {
	r.folder.RLock()
	defer r.folder.RUnlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.store == nil {
		r.store = openStore(r.dir)
	}
	return read(r.store)
}

// useAlone runs a long read on a storage of its own; short ones go on meanwhile.
func (r *mirror) useAlone(read func(*filesystem.Storage) error) error {
	r.folder.RLock()
	defer r.folder.RUnlock()
	store := openStore(r.dir)
	defer func() { _ = store.Close() }() // it was read only
	return read(store)
}

// forget makes the next reader open the mirror anew.
func (r *mirror) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.store != nil {
		_ = r.store.Close() // it was read only
		r.store = nil
	}
}

// has says whether a commit and its root folder are in the mirror.
func (r *mirror) has(commit plumbing.Hash) bool {
	err := r.use(func(store *filesystem.Storage) error {
		_, err := rootTree(store, commit)
		return err
	})
	return err == nil
}

// create makes the folder where there is none, such that git itself can read it.
func create(dir string) error {
	if isGitDir(dir) {
		return nil
	}
	store := openStore(dir)
	defer func() { _ = store.Close() }()
	if err := store.Init(); err != nil {
		return fmt.Errorf("create mirror: %w", err)
	}
	for name, text := range map[string]string{
		"HEAD":   "ref: refs/heads/none\n",
		"config": "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[gc]\n\tauto = 0\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("create mirror: %w", err)
		}
	}
	return nil
}

// remove deletes the folder once nobody reads it.
func (r *mirror) remove() error {
	r.folder.Lock()
	defer r.folder.Unlock()
	defer r.forget()
	return r.swap("")
}

// swap puts another folder, or none when it is "", in the mirror's place. The
// folder lock is held for writing.
func (r *mirror) swap(fresh string) error {
	if err := os.RemoveAll(r.dir); err != nil {
		return fmt.Errorf("remove mirror: %w", err)
	}
	if fresh == "" {
		return nil
	}
	if err := os.Rename(fresh, r.dir); err != nil {
		return fmt.Errorf("replace mirror: %w", err)
	}
	return nil
}

// packs counts the packs, one per fetch.
func (r *mirror) packs() int {
	found, _ := filepath.Glob(filepath.Join(r.dir, "objects", "pack", "*.pack"))
	return len(found)
}

// sweep removes what an interrupted fetch left behind.
func (r *mirror) sweep() {
	left, _ := filepath.Glob(filepath.Join(r.dir, "objects", "pack", "tmp_pack_*"))
	for _, file := range left {
		_ = os.Remove(file)
	}
}
