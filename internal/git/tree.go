package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/spelling"
)

// TreeHash returns the hash of a file's or folder's content at a commit; "" or
// "." is the whole tree. Equal hashes mean equal content, names and modes below
// the path (a file's own mode counts in its folder's hash). A path that is not
// there is an error of KindPath that names its nearest neighbours.
func (m *Mirrors) TreeHash(ctx context.Context, url, commit, file string) (string, error) {
	var hash string
	err := m.read(ctx, url, commit, func(repository gitops.Repository, repo *mirror, head Head) error {
		return repo.use(func(store *filesystem.Storage) error {
			trees, err := openTrees(store, plumbing.NewHash(head.Commit))
			if err != nil {
				return err
			}
			entry, err := trees.mustFind(repository, head, file)
			hash = entry.Hash.String()
			return err
		})
	})
	if err != nil {
		return "", err
	}
	return hash, nil
}

// TreeHashes is TreeHash for many paths of one commit, in milliseconds: it reads
// each folder on the way once. A path that is not there has "" in the answer,
// one in a submodule that submodule's commit.
func (m *Mirrors) TreeHashes(ctx context.Context, url, commit string, paths []string) (map[string]string, error) {
	hashes := make(map[string]string, len(paths))
	err := m.read(ctx, url, commit, func(_ gitops.Repository, repo *mirror, head Head) error {
		return repo.use(func(store *filesystem.Storage) error {
			trees, err := openTrees(store, plumbing.NewHash(head.Commit))
			if err != nil {
				return err
			}
			for _, file := range paths {
				entry, found, err := trees.find(file)
				if err != nil {
					return err
				}
				hashes[file] = ""
				if found {
					hashes[file] = entry.Hash.String()
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return hashes, nil
}

// read runs a read on a mirror that has the commit, fetching it first where
// needed. What run returns and is not an *Error means that the mirror cannot be
// read: it is opened anew, because another process may have replaced it, and
// then fetched anew, once.
func (m *Mirrors) read(ctx context.Context, url, commit string, run func(gitops.Repository, *mirror, Head) error) error {
	repository, head, err := m.target(url, Head{Commit: commit})
	if err != nil {
		return err
	}
	var damage error
	for _, repair := range []func() error{
		func() error { return nil },
		func() error { m.mirror(repository).forget(); return nil },
		func() error { return m.share(ctx, "repair", repository, head, m.fetchAnew) },
	} {
		if err := errors.Join(repair(), ctx.Err()); err != nil {
			return asError(ctx, repository, err)
		}
		if err := m.ensure(ctx, repository, head); err != nil {
			return err
		}
		damage = run(repository, m.mirror(repository), head)
		if damage == nil || KindOf(damage) != "" || isMachine(damage) || ctx.Err() != nil {
			return asError(ctx, repository, damage)
		}
	}
	return &Error{
		Kind: KindDamaged, Repository: repository.Identity, Attempt: "read " + head.Commit, Err: damage,
		Reason: "it was fetched anew and still cannot be read; check the repository with git fsck",
	}
}

func asError(ctx context.Context, repository gitops.Repository, err error) error {
	if err == nil || KindOf(err) != "" {
		return err
	}
	return unavailable(ctx, repository, "read the mirror", err)
}

// trees reads one commit's folders, each once, and checks what it reads against
// its hash.
type trees struct {
	store storer.EncodedObjectStorer
	root  *object.Tree
	known map[plumbing.Hash]*object.Tree
}

func openTrees(store storer.EncodedObjectStorer, commit plumbing.Hash) (*trees, error) {
	root, err := rootTree(store, commit)
	if err != nil {
		return nil, err
	}
	return &trees{store: store, root: root, known: map[plumbing.Hash]*object.Tree{root.Hash: root}}, nil
}

func rootTree(store storer.EncodedObjectStorer, commit plumbing.Hash) (*object.Tree, error) {
	c, err := object.GetCommit(store, commit)
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", commit, err)
	}
	return readTree(store, c.TreeHash)
}

func readTree(store storer.EncodedObjectStorer, hash plumbing.Hash) (*object.Tree, error) {
	found, err := store.EncodedObject(plumbing.TreeObject, hash)
	if err != nil {
		return nil, fmt.Errorf("read folder %s: %w", hash, err)
	}
	if err := copyVerified(io.Discard, found, hash); err != nil {
		return nil, err
	}
	return object.DecodeTree(store, found)
}

// copyVerified writes an object's content and fails when it is not what the hash says.
func copyVerified(to io.Writer, found plumbing.EncodedObject, hash plumbing.Hash) (err error) {
	content, err := found.Reader()
	if err != nil {
		return fmt.Errorf("read object %s: %w", hash, err)
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	sum := plumbing.NewHasher(found.Type(), found.Size())
	if _, err := io.Copy(io.MultiWriter(to, sum), content); err != nil {
		return fmt.Errorf("read object %s: %w", hash, err)
	}
	if sum.Sum() != hash {
		return fmt.Errorf("read object %s: its content is another object's", hash)
	}
	return nil
}

func (t *trees) folder(hash plumbing.Hash) (*object.Tree, error) {
	if tree, ok := t.known[hash]; ok {
		return tree, nil
	}
	tree, err := readTree(t.store, hash)
	if err == nil {
		t.known[hash] = tree
	}
	return tree, err
}

// find walks to a path. A path that leaves the repository is not found.
func (t *trees) find(file string) (entry object.TreeEntry, found bool, err error) {
	entry = object.TreeEntry{Mode: filemode.Dir, Hash: t.root.Hash}
	for name := range strings.SplitSeq(cleanPath(file), "/") {
		if name == "." || name == "" {
			continue
		}
		if entry.Mode == filemode.Submodule {
			return entry, true, nil // its commit stands for all that is in it
		}
		if entry.Mode != filemode.Dir {
			return entry, false, nil
		}
		tree, err := t.folder(entry.Hash)
		if err != nil {
			return entry, false, err
		}
		if entry, found = entryOf(tree, name); !found {
			return entry, false, nil
		}
	}
	return entry, true, nil
}

// mustFind is find, with an error of KindPath for what is not there.
func (t *trees) mustFind(repository gitops.Repository, head Head, file string) (object.TreeEntry, error) {
	entry, found, err := t.find(file)
	if err != nil || found {
		return entry, err
	}
	missing := &Error{
		Kind: KindPath, Repository: repository.Identity, Attempt: "find " + quoteShort(file) + " in commit " + head.Commit,
		Reason: "there is no such file or folder",
	}
	missing.Nearby, err = t.neighbours(cleanPath(file))
	if err != nil {
		return entry, err
	}
	return entry, missing
}

// neighbours lists the nearest names in the deepest folder of the path that exists.
func (t *trees) neighbours(file string) ([]string, error) {
	for dir := file; dir != "."; {
		dir = path.Dir(dir)
		entry, found, err := t.find(dir)
		if err != nil {
			return nil, err
		}
		if !found || entry.Mode != filemode.Dir {
			continue
		}
		tree, err := t.folder(entry.Hash)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, e := range tree.Entries {
			names = append(names, path.Join(dir, e.Name))
		}
		return spelling.Closest(file, names, nearbyCount), nil
	}
	return nil, nil
}

func entryOf(tree *object.Tree, name string) (object.TreeEntry, bool) {
	for _, e := range tree.Entries {
		if e.Name == name {
			return e, true
		}
	}
	return object.TreeEntry{}, false
}

// cleanPath makes a path relative to the repository's root. What would leave it
// keeps its "..", which no tree has.
func cleanPath(file string) string { return path.Clean(strings.TrimLeft(file, "/")) }
