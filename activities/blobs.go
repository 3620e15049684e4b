package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tidegate/tidegate/internal/artifact"
)

// Blobs is the artifact store as activities see it: digests are plain strings,
// since they travel through Temporal.
type Blobs struct {
	Store *artifact.Store
}

// Get returns an artifact's content; artifact.ErrNotFound when it is gone.
func (b Blobs) Get(ctx context.Context, digest string) ([]byte, error) {
	d, err := artifact.ParseDigest(digest)
	if err != nil {
		return nil, err
	}
	return b.Store.Get(ctx, d)
}

// Put stores content and returns its digest.
func (b Blobs) Put(ctx context.Context, kind string, data []byte) (string, error) {
	d, err := b.Store.Put(ctx, kind, data)
	return string(d), err
}

// GetNamed returns a small mutable object; artifact.ErrNotFound when there is none.
func (b Blobs) GetNamed(ctx context.Context, name string) ([]byte, error) {
	return b.Store.GetNamed(ctx, name)
}

// SetNamed replaces a small mutable object.
func (b Blobs) SetNamed(ctx context.Context, name string, data []byte) error {
	return b.Store.SetNamed(ctx, name, data)
}

// getJSON decodes an artifact.
func (b Blobs) getJSON(ctx context.Context, digest string, v any) error {
	data, err := b.Get(ctx, digest)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("decode artifact %s: %w", digest, err)
	}
	return nil
}

// putJSON stores a value as an artifact.
func (b Blobs) putJSON(ctx context.Context, kind string, v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", kind, err)
	}
	return b.Put(ctx, kind, data)
}

// namedJSON decodes a named object; found is false when there is none.
func (b Blobs) namedJSON(ctx context.Context, name string, v any) (found bool, err error) {
	data, err := b.GetNamed(ctx, name)
	if errors.Is(err, artifact.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, fmt.Errorf("decode %s: %w", name, err)
	}
	return true, nil
}

// setNamedJSON replaces a named object by a value.
func (b Blobs) setNamedJSON(ctx context.Context, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return b.SetNamed(ctx, name, data)
}
