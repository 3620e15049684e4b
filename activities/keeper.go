package activities

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Keeper reads and writes what outlives a workflow: specifications, checkpoints
// and records.
type Keeper struct {
	Blobs Blobs
}

// Specification returns one Delivery as the catalog declared it.
func (k *Keeper) Specification(ctx context.Context, digest string) (gitops.Delivery, error) {
	var d gitops.Delivery
	if err := k.Blobs.getJSON(ctx, digest, &d); err != nil {
		return d, classify(fmt.Errorf("read specification %s: %w", digest, err))
	}
	return d, nil
}

// Checkpoint is a Delivery's state as it was saved last.
type Checkpoint struct {
	Found bool            `json:"found"`
	State json.RawMessage `json:"state,omitempty"`
}

// SaveCheckpoint keeps a Delivery's state outside Temporal, for the case that
// its workflow is lost.
func (k *Keeper) SaveCheckpoint(ctx context.Context, delivery string, state json.RawMessage) error {
	return classify(k.Blobs.SetNamed(ctx, "checkpoint/"+delivery, state))
}

// LoadCheckpoint returns the state that was saved last, if any.
func (k *Keeper) LoadCheckpoint(ctx context.Context, delivery string) (Checkpoint, error) {
	var c Checkpoint
	found, err := k.Blobs.namedJSON(ctx, "checkpoint/"+delivery, &c.State)
	if err != nil {
		return c, classify(fmt.Errorf("read the checkpoint of %s: %w", delivery, err))
	}
	c.Found = found
	return c, nil
}

// SaveRecord keeps what happened in a rollout, for good: it is addressed by its
// content and found under the rollout's id.
func (k *Keeper) SaveRecord(ctx context.Context, id string, record json.RawMessage) error {
	digest, err := k.Blobs.Put(ctx, "record", record)
	if err != nil {
		return classify(fmt.Errorf("save the record of %s: %w", id, err))
	}
	return classify(k.Blobs.setNamedJSON(ctx, "record/"+id, digest))
}
