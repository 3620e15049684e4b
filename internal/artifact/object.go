package artifact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// ErrWrongKey means that the store was made with another key than the one it is opened with.
var ErrWrongKey = errors.New("the key is not the one that this store was made with")

const (
	markerObject = "store.json"
	storeFormat  = 1
)

// marker is the one object that is not encrypted: it says how to read the others.
type marker struct {
	Format int    `json:"format"`
	KeyID  string `json:"keyID"`
}

// claim compares the store's marker with our key, writing it when the store is new.
func (s *Store) claim(ctx context.Context) error {
	text, err := json.Marshal(marker{Format: storeFormat, KeyID: s.keys.id})
	if err != nil {
		return fmt.Errorf("encode %s: %w", markerObject, err)
	}
	found, err := s.bucket.ReadAll(ctx, markerObject)
	if gcerrors.Code(err) == gcerrors.NotFound {
		err = s.write(ctx, markerObject, text, writeMode{createOnly: true, sync: true})
		if err != nil && gcerrors.Code(err) != gcerrors.FailedPrecondition {
			return fmt.Errorf("write %s: %w", markerObject, err)
		}
		found, err = s.bucket.ReadAll(ctx, markerObject) // ours, or that of a process that was quicker
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", markerObject, err)
	}
	var m marker
	if err := json.Unmarshal(found, &m); err != nil {
		return fmt.Errorf("read %s: %w", markerObject, err)
	}
	switch {
	case m.Format != storeFormat:
		return fmt.Errorf("the store has format %d, this program reads format %d: use the program that wrote it", m.Format, storeFormat)
	case m.KeyID != s.keys.id:
		return fmt.Errorf("%w: it needs key %s, this is key %s", ErrWrongKey, m.KeyID, s.keys.id)
	}
	return nil
}

func (s *Store) readObject(ctx context.Context, name string) ([]byte, error) {
	sealed, err := s.bucket.ReadAll(ctx, name)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return s.unseal(name, sealed)
}

// writeMode says how careful a write is.
type writeMode struct {
	createOnly bool // fails with gcerrors.FailedPrecondition when the object exists
	sync       bool // on disk before it has its name, so that a power cut cannot leave it empty; file systems only
}

// write makes an object appear with all of its content, or not at all.
func (s *Store) write(ctx context.Context, name string, content []byte, mode writeMode) error {
	ctx, abandon := context.WithCancel(ctx) // closing a writer publishes the object unless its context is cancelled
	defer abandon()
	var file *os.File
	w, err := s.bucket.NewWriter(ctx, name, &blob.WriterOptions{
		ContentType: "application/octet-stream",
		IfNotExist:  mode.createOnly,
		BeforeWrite: func(as func(any) bool) error {
			if as(&file) {
				return file.Chmod(0o600)
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	if err == nil && mode.sync && file != nil {
		err = file.Sync()
	}
	if err != nil {
		abandon()
		return errors.Join(err, ignoreCancelled(w.Close()))
	}
	return w.Close()
}

func ignoreCancelled(err error) error {
	if gcerrors.Code(err) == gcerrors.Canceled || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
