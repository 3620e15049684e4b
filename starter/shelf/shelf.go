// Package shelf reads what workers keep in the artifact store for others to
// read: the catalog as it was loaded last, and the records of rollouts.
package shelf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tidegate/tidegate/internal/artifact"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/workflows"
)

// Names in the store are a contract with the activities that write there; the
// starter does not import them.
const (
	catalogName  = "catalog" // activities.CatalogName
	recordPrefix = "record/" // activities.Keeper.SaveRecord
)

// maxAge is how old a catalog may be that is answered without a look at the
// store.
const maxAge = 250 * time.Millisecond

// Store is the part of the artifact store that is read.
type Store interface {
	// GetNamed returns a small mutable object; artifact.ErrNotFound when there is none.
	GetNamed(ctx context.Context, name string) ([]byte, error)
	// Get returns the content of an artifact; artifact.ErrNotFound when it is gone.
	Get(ctx context.Context, digest artifact.Digest) ([]byte, error)
}

// Shelf is safe for concurrent use.
type Shelf struct {
	store Store
	now   func() time.Time

	turn    chan struct{} // holds one token: who has it may use what follows
	read    time.Time     // when the store was asked last
	raw     []byte        // what it answered
	catalog gitops.Catalog
}

// New returns a shelf over a store.
func New(store Store) *Shelf {
	s := &Shelf{store: store, now: time.Now, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

// Catalog returns the catalog as a worker loaded it last, at most 250 ms old;
// an empty one when none was loaded yet. Callers share it and must not change
// it. It is decoded only when it has changed.
func (s *Shelf) Catalog(ctx context.Context) (gitops.Catalog, error) {
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-ctx.Done():
		return gitops.Catalog{}, fmt.Errorf("wait for the catalog to be read: %w", ctx.Err())
	}
	if !s.read.IsZero() && s.now().Sub(s.read) < maxAge {
		return s.catalog, nil
	}
	raw, err := s.store.GetNamed(ctx, catalogName)
	switch {
	case errors.Is(err, artifact.ErrNotFound):
		raw, s.catalog = nil, gitops.Catalog{}
	case err != nil:
		return gitops.Catalog{}, fmt.Errorf("read the catalog: %w", err)
	case !bytes.Equal(raw, s.raw):
		var catalog gitops.Catalog
		if err := json.Unmarshal(raw, &catalog); err != nil {
			return gitops.Catalog{}, fmt.Errorf("decode the catalog: %w", err)
		}
		s.catalog = catalog
	}
	s.read, s.raw = s.now(), raw
	return s.catalog, nil
}

// Record returns how a rollout ended that Temporal may have forgotten, by its
// workflow id; artifact.ErrNotFound when there is no record of it.
func (s *Shelf) Record(ctx context.Context, id string) (workflows.RolloutStatus, error) {
	var status workflows.RolloutStatus
	raw, err := s.store.GetNamed(ctx, recordPrefix+id)
	if err != nil {
		return status, err
	}
	var digest artifact.Digest
	if err := json.Unmarshal(raw, &digest); err != nil {
		return status, fmt.Errorf("decode the digest of %s: %w", id, err)
	}
	if raw, err = s.store.Get(ctx, digest); err != nil {
		return status, err
	}
	if err := json.Unmarshal(raw, &status); err != nil {
		return status, fmt.Errorf("decode the record of %s: %w", id, err)
	}
	return status, nil
}

// Ready says whether the store can be read.
func (s *Shelf) Ready(ctx context.Context) error {
	if _, err := s.store.GetNamed(ctx, catalogName); err != nil && !errors.Is(err, artifact.ErrNotFound) {
		return fmt.Errorf("read the artifact store: %w", err)
	}
	return nil
}
