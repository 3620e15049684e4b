package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gocloud.dev/gcerrors"
)

const (
	blobFolder = "blobs/"

	// refreshAfter is the age at which a Put of something stored already writes it again. It makes the object young, so
	// that a sweep which did not see the new reference yet leaves it alone.
	refreshAfter = time.Hour

	// readTimeout bounds a read that several callers wait for, as none of their contexts may end it for the others.
	readTimeout = 2 * time.Minute
)

// sighting is what this process knows about a digest without asking the bucket.
type sighting struct {
	written time.Time
	damaged bool // the next Put must write, whatever the bucket says it has
}

// Put stores data under its digest. Kind says what it is ("bundle"): a lower-case letter, then letters, digits and
// dashes, 32 at most. Storing the same again costs one look at the bucket at most. Every process sees all of it once Put
// returns (see Options.Sync for the disk); an interrupted Put leaves nothing that Get could see.
func (s *Store) Put(ctx context.Context, kind string, data []byte) (Digest, error) {
	if !isKind(kind) {
		return "", fmt.Errorf("put artifact: kind %q must be lower-case letters, digits and dashes, %d at most", kind, maxKindLength)
	}
	d := s.digest(kind, data)
	stored, err := s.isStored(ctx, d)
	if err != nil {
		return "", fmt.Errorf("put artifact %s: %w", d, err)
	}
	if stored {
		return d, nil
	}
	sealed, err := s.seal(d.object(), data)
	if err != nil {
		return "", fmt.Errorf("put artifact %s: %w", d, err)
	}
	if err := s.write(ctx, d.object(), sealed, writeMode{sync: s.sync}); err != nil {
		return "", fmt.Errorf("put artifact %s: %w", d, err)
	}
	s.known.add(d, sighting{written: s.now()}, 1)
	return d, nil
}

// isStored answers from memory when it can. An object that is old, that Get found damaged, or that
// is empty (as a power cut leaves it), counts as not stored.
func (s *Store) isStored(ctx context.Context, d Digest) (bool, error) {
	seen, ok := s.known.get(d)
	if seen.damaged {
		return false, nil
	}
	if ok && s.now().Sub(seen.written) < refreshAfter {
		return true, nil
	}
	attrs, err := s.bucket.Attributes(ctx, d.object())
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look it up: %w", err)
	case attrs.Size == 0 || s.now().Sub(attrs.ModTime) >= refreshAfter:
		return false, nil
	}
	s.known.add(d, sighting{written: attrs.ModTime}, 1)
	return true, nil
}

// Get returns the content of an artifact, verified against its digest, as a copy that the caller owns. It returns
// ErrNotFound or ErrDamaged, with the digest in the message. A damaged artifact is repaired by putting it again: at once
// by the process that found it damaged, by others when it is refreshAfter old.
func (s *Store) Get(ctx context.Context, d Digest) ([]byte, error) {
	data, err := s.load(ctx, d)
	return bytes.Clone(data), err
}

// load is Get without the copy: callers must not change what they get. Concurrent loads of one digest read it once.
func (s *Store) load(ctx context.Context, d Digest) ([]byte, error) {
	if data, ok := s.cache.get(d); ok {
		return data, nil
	}
	if _, err := ParseDigest(string(d)); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	read := s.reads.DoChan(string(d), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		return s.read(ctx, d)
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("get artifact %s: %w", d, ctx.Err())
	case r := <-read:
		if r.Err != nil {
			return nil, fmt.Errorf("get artifact %s: %w", d, r.Err)
		}
		return r.Val.([]byte), nil
	}
}

func (s *Store) read(ctx context.Context, d Digest) ([]byte, error) {
	data, err := s.readObject(ctx, d.object())
	if err == nil && s.digest(d.Kind(), data) != d {
		err = ErrDamaged
	}
	if errors.Is(err, ErrDamaged) {
		s.known.add(d, sighting{damaged: true}, 1)
	}
	if err != nil {
		return nil, err
	}
	s.cache.add(d, data, int64(len(data)))
	return data, nil
}

// PutJSON stores v as JSON; see Put.
func (s *Store) PutJSON(ctx context.Context, kind string, v any) (Digest, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("put %s artifact: %w", kind, err)
	}
	return s.Put(ctx, kind, data)
}

// GetJSON reads an artifact that PutJSON stored into v, a pointer; see Get.
func (s *Store) GetJSON(ctx context.Context, d Digest, v any) error {
	data, err := s.load(ctx, d)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("decode artifact %s into %T: %w", d, v, err)
	}
	return nil
}
