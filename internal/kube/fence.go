package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
)

// Claim says who writes a target. Within a Delivery claims are ordered by epoch,
// step and attempt; the later one wins.
type Claim struct {
	Delivery string `json:"delivery"`
	Epoch    int    `json:"epoch"`   // the rollout's number
	Step     int    `json:"step"`    // of its plan
	Attempt  int    `json:"attempt"` // of that step
}

// String is the form for people and audit logs.
func (c Claim) String() string {
	return fmt.Sprintf("rollout=%s#%d step=%d attempt=%d", c.Delivery, c.Epoch, c.Step, c.Attempt)
}

// before says whether a claim is older than another of the same Delivery.
func (c Claim) before(o Claim) bool {
	switch {
	case c.Epoch != o.Epoch:
		return c.Epoch < o.Epoch
	case c.Step != o.Step:
		return c.Step < o.Step
	}
	return c.Attempt < o.Attempt
}

// fence holds a claim during one step: it is checked before every write, and
// proven at most freshness ago.
type fence struct {
	region *Region
	claim  Claim

	mu       sync.Mutex
	inv      *Inventory
	verified time.Time
}

// freshness is how old the last proof may be. It is not asked for anew at every
// write, as that would double the requests.
const freshness = 250 * time.Millisecond

// newFence reads the inventory and refuses a claim that is older than the one it
// holds. Another Delivery's claim is no obstacle: a target has one Delivery, and
// this is the one that it has now.
func (r *Region) newFence(ctx context.Context, target string, claim Claim) (*fence, error) {
	inv, err := r.Inventory(ctx, target)
	if err != nil {
		return nil, err
	}
	f := &fence{region: r, claim: claim, inv: inv, verified: time.Now()}
	return f, f.admit(inv)
}

func (f *fence) admit(inv *Inventory) error {
	if inv.Delivery == f.claim.Delivery && f.claim.before(inv.Claim) {
		return fmt.Errorf("%w: %s is held by %s, this is %s", ErrFenced, inv.Target, inv.Claim, f.claim)
	}
	return nil
}

// holds says whether the claim is ours in the inventory as it is now.
func (f *fence) holds(inv *Inventory) error {
	if inv.Delivery != f.claim.Delivery || inv.Epoch != f.claim.Epoch {
		return fmt.Errorf("%w: %s is held by %s, this is %s", ErrFenced, inv.Target, inv.Claim, f.claim)
	}
	return f.admit(inv)
}

// take puts the claim into the inventory, together with the keys of all that the
// rollout is going to create. It writes nothing when the claim is there already,
// as it is from a rollout's second step on.
func (f *fence) take(ctx context.Context, bundle string, keys []diff.Record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.holds(f.inv) == nil && (f.inv.Step < f.claim.Step && f.claim.Attempt == 1 || f.inv.Claim == f.claim) {
		return nil
	}
	return f.update(ctx, func(inv *Inventory) error {
		if err := f.admit(inv); err != nil {
			return err
		}
		records := inv.byKey()
		for _, k := range keys {
			if _, ok := records[k.Key]; !ok {
				records[k.Key] = k
			}
		}
		inv.setRecords(records)
		inv.Bundle = bundle
		return nil
	})
}

// record notes what a step has done.
func (f *fence) record(ctx context.Context, done []diff.Record, gone []gitops.ObjectKey) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.update(ctx, func(inv *Inventory) error {
		if err := f.holds(inv); err != nil {
			return err
		}
		records := inv.byKey()
		for _, rec := range done {
			records[rec.Key] = rec
		}
		for _, key := range gone {
			delete(records, key)
		}
		inv.setRecords(records)
		return nil
	})
}

// update changes the inventory by compare-and-swap. The change is made again when
// somebody else was faster, unless it then refuses.
func (f *fence) update(ctx context.Context, change func(*Inventory) error) error {
	for {
		if err := change(f.inv); err != nil {
			return err
		}
		f.inv.Claim = f.claim
		err := f.region.writeInventory(ctx, f.inv)
		if err == nil {
			f.verified = time.Now()
			return nil
		}
		if !errors.Is(err, errMoved) {
			return fmt.Errorf("write the inventory of %s in region %s: %w", f.inv.Target, f.region.settings.Name, err)
		}
		if f.inv, err = f.region.Inventory(ctx, f.inv.Target); err != nil {
			return err
		}
	}
}

// check proves that the claim is still ours. It is called right before a write. A
// worker that was frozen in between finds its proof too old when it wakes up.
func (f *fence) check(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if time.Since(f.verified) < freshness {
		return nil
	}
	err := f.region.checkUnmoved(ctx, f.inv)
	if errors.Is(err, errMoved) {
		inv, readErr := f.region.Inventory(ctx, f.inv.Target)
		if readErr != nil {
			return readErr
		}
		if err = f.holds(inv); err == nil {
			f.inv = inv
		}
	}
	if err != nil {
		return err
	}
	f.verified = time.Now()
	return nil
}
