package artifact

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gocloud.dev/blob"
)

const keySize = 32

// ErrKeyMissing means that a store holds objects but its key file is gone. The key is not made anew: every object would
// be lost for good, silently.
var ErrKeyMissing = errors.New("the store holds objects but its key is missing")

// masterKey finds the key that the options name, making it only for a file:// store that is empty.
func masterKey(ctx context.Context, bucket *blob.Bucket, loc location, o Options) ([]byte, error) {
	if len(o.Key) > 0 {
		if len(o.Key) != keySize {
			return nil, fmt.Errorf("the key has %d bytes, it must have %d", len(o.Key), keySize)
		}
		return o.Key, nil
	}
	path := o.KeyFile
	switch {
	case path == "" && loc.inMemory:
		return randomKey()
	case path == "" && loc.folder == "":
		return nil, errors.New("a shared store needs a key: set the key or the key file, the same on every machine")
	case path == "":
		path = loc.folder + ".key"
	}
	key, err := readKey(path)
	if !errors.Is(err, os.ErrNotExist) {
		return key, err
	}
	if loc.folder == "" {
		return nil, fmt.Errorf("%w; make one with `head -c 32 /dev/urandom | base64 > %s` and give it to every machine", err, path)
	}
	return firstKey(ctx, bucket, path)
}

// firstKey makes the key of an empty store. Another process may be doing the same: whoever links its file first has
// made the key, everyone else reads that one.
func firstKey(ctx context.Context, bucket *blob.Bucket, path string) ([]byte, error) {
	empty, err := isEmpty(ctx, bucket)
	if err != nil {
		return nil, err
	}
	if empty {
		if err := makeKey(path); err != nil {
			return nil, fmt.Errorf("make key %s: %w", path, err)
		}
	}
	// Not empty may mean that the other process was quick: made the key and wrote, all since we looked for the file.
	key, err := readKey(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: restore %s from a backup, or move the store away to start with an empty one", ErrKeyMissing, path)
	}
	return key, err
}

func readKey(path string) ([]byte, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the path is a setting of the operator
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != keySize { // the decoder's error would quote the key
		return nil, fmt.Errorf("read key %s: it must be %d bytes in base64", path, keySize)
	}
	return key, nil
}

// makeKey writes a random key to path, readable by its owner only, complete or not at all, unless path exists.
func makeKey(path string) (err error) {
	key, err := randomKey()
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(folder, filepath.Base(path)+".*.tmp") // CreateTemp gives 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(tmp.Name())) }()
	if err := writeAndSync(tmp, base64.StdEncoding.EncodeToString(key)+"\n"); err != nil {
		return err
	}
	// Unlike a rename, a link never replaces a key that another process made in the meantime.
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return syncFolder(folder)
}

func writeAndSync(f *os.File, text string) error {
	_, err := f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncFolder(path string) error {
	d, err := os.Open(path) //nolint:gosec // the path is a setting of the operator
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func randomKey() ([]byte, error) {
	key := make([]byte, keySize)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make a random key: %w", err)
	}
	return key, nil
}

func isEmpty(ctx context.Context, bucket *blob.Bucket) (bool, error) {
	_, err := bucket.List(nil).Next(ctx)
	switch {
	case errors.Is(err, io.EOF):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("look for objects: %w", err)
	}
	return false, nil
}
