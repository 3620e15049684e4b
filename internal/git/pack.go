package git

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// copyCommits adds the trees of some commits to another store as one pack,
// without their history. A tree that is there already is taken to be complete,
// because packs only ever appear whole.
func copyCommits(ctx context.Context, into, from *filesystem.Storage, commits ...plumbing.Hash) error {
	c := collector{from: lazyObjects{Storage: from, types: map[plumbing.Hash]plumbing.ObjectType{}}, into: into}
	for _, hash := range commits {
		commit, err := object.GetCommit(from, hash)
		if err != nil {
			return fmt.Errorf("read commit %s: %w", hash, err)
		}
		if c.add(hash, plumbing.CommitObject) {
			if err := c.addTree(ctx, commit.TreeHash); err != nil {
				return err
			}
		}
	}
	if len(c.found) == 0 {
		return nil
	}
	return writePack(into, c.from, c.found)
}

type collector struct {
	from  lazyObjects
	into  *filesystem.Storage
	found []plumbing.Hash
}

func (c *collector) add(hash plumbing.Hash, kind plumbing.ObjectType) (isNew bool) {
	if _, seen := c.from.types[hash]; seen || c.into.HasEncodedObject(hash) == nil {
		return false
	}
	c.from.types[hash] = kind
	c.found = append(c.found, hash)
	return true
}

func (c *collector) addTree(ctx context.Context, hash plumbing.Hash) error {
	if !c.add(hash, plumbing.TreeObject) {
		return ctx.Err()
	}
	tree, err := object.GetTree(c.from.Storage, hash)
	if err != nil {
		return fmt.Errorf("read tree %s: %w", hash, err)
	}
	for _, entry := range tree.Entries {
		switch entry.Mode {
		case filemode.Submodule:
		case filemode.Dir:
			if err := c.addTree(ctx, entry.Hash); err != nil {
				return err
			}
		default:
			c.add(entry.Hash, plumbing.BlobObject)
		}
	}
	return nil
}

func writePack(into *filesystem.Storage, from storer.EncodedObjectStorer, objects []plumbing.Hash) (err error) {
	pack, err := into.PackfileWriter()
	if err != nil {
		return fmt.Errorf("start a pack: %w", err)
	}
	defer func() { err = errors.Join(err, pack.Close()) }()
	if _, err := packfile.NewEncoder(pack, from, false).Encode(objects, 0); err != nil {
		return fmt.Errorf("write a pack: %w", err)
	}
	return nil
}

// lazyObjects hands objects to the pack encoder without their content, which it
// would otherwise hold all at once.
type lazyObjects struct {
	*filesystem.Storage
	types map[plumbing.Hash]plumbing.ObjectType
}

// EncodedObject returns a stand-in that reads the object when it is written.
func (l lazyObjects) EncodedObject(_ plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	size, err := l.EncodedObjectSize(hash)
	if err != nil {
		return nil, fmt.Errorf("read object %s: %w", hash, err)
	}
	return &lazyObject{store: l.Storage, hash: hash, kind: l.types[hash], size: size}, nil
}

type lazyObject struct {
	plumbing.EncodedObject
	store *filesystem.Storage
	hash  plumbing.Hash
	kind  plumbing.ObjectType
	size  int64
}

func (o *lazyObject) Hash() plumbing.Hash       { return o.hash }
func (o *lazyObject) Type() plumbing.ObjectType { return o.kind }
func (o *lazyObject) Size() int64               { return o.size }

func (o *lazyObject) Reader() (io.ReadCloser, error) {
	found, err := o.store.EncodedObject(o.kind, o.hash)
	if err != nil {
		return nil, fmt.Errorf("read object %s: %w", o.hash, err)
	}
	return found.Reader()
}
