package git

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// maxThinBytes bounds the memory that completing a thin pack takes. A push that
// changes more than this is fetched whole, straight to disk.
const maxThinBytes = 64 << 20

var errTooThick = errors.New("the pack is too large to be completed in memory")

// receiveThin stores a pack whose deltas may build upon objects of the mirror:
// what a server sends when it knows what is there, often a few hundred bytes for
// a push to a large repository. Mirrors hold complete packs only, so its objects
// are completed in memory first. go-git has no such thing for packs on disk.
func receiveThin(into *filesystem.Storage, pack io.Reader) error {
	over := &overlay{EncodedObjectStorer: into, objects: map[plumbing.Hash]plumbing.EncodedObject{}}
	parser, err := packfile.NewParserWithStorage(packfile.NewScanner(pack), over)
	if err != nil {
		return fmt.Errorf("read thin pack: %w", err)
	}
	if _, err := parser.Parse(); err != nil {
		return fmt.Errorf("read thin pack: %w", err)
	}
	if len(over.order) == 0 {
		return nil
	}
	return writePack(into, over, over.order)
}

// overlay keeps new objects in memory and reads all others from the mirror. The
// mirror's faster ways to write are hidden from the parser on purpose.
type overlay struct {
	storer.EncodedObjectStorer
	objects map[plumbing.Hash]plumbing.EncodedObject
	order   []plumbing.Hash
	bytes   int64
}

// SetEncodedObject implements storer.EncodedObjectStorer.
func (o *overlay) SetEncodedObject(object plumbing.EncodedObject) (plumbing.Hash, error) {
	hash := object.Hash()
	if _, known := o.objects[hash]; known {
		return hash, nil
	}
	if o.bytes += object.Size(); o.bytes > maxThinBytes {
		return hash, errTooThick
	}
	o.objects[hash] = object
	o.order = append(o.order, hash)
	return hash, nil
}

// EncodedObject implements storer.EncodedObjectStorer.
func (o *overlay) EncodedObject(kind plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	if object, ok := o.objects[hash]; ok {
		return object, nil
	}
	return o.EncodedObjectStorer.EncodedObject(kind, hash)
}
