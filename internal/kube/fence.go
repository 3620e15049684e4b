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
// retry, step and attempt; the later one wins.
type Claim struct {
	Delivery string `json:"delivery"`
	Epoch    int    `json:"epoch"`           // the rollout's number
	Retry    int    `json:"retry,omitempty"` // of the rollout in this target: its plan is made anew for each
	Step     int    `json:"step"`            // of its plan
	Attempt  int    `json:"attempt"`         // of that step
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
	case c.Retry != o.Retry:
		return c.Retry < o.Retry
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
	// deletes says that the claim is to delete the target: one that somebody else than
	// the holder of then has taken over, or that is gone, is none of its business.
	deletes bool
	holder  string

	// turn is held by who talks with the region about the inventory; inv is its own.
	turn sync.Mutex
	inv  *Inventory

	mu     sync.Mutex
	proven time.Time // the claim was ours at that time
}

// The claim is not proven anew at every write, as that would double the requests,
// nor while writes stand and wait: it is renewed beside them, and only a writer
// that was frozen, or that the region starves, finds its proof too old.
const (
	freshness  = time.Second
	renewAfter = freshness / 2
)

// newFence starts from the inventory as it was seen last; nothing is proven yet.
func (r *Region) newFence(ctx context.Context, plan Plan, claim Claim) (*fence, error) {
	target := plan.Target
	inv, err := r.recall(ctx, target)
	if err != nil {
		return nil, err
	}
	f := &fence{region: r, claim: claim, inv: inv, deletes: plan.Deletes, holder: plan.Holder}
	if f.admit(inv) == nil {
		return f, nil
	}
	if f.inv, err = r.Inventory(ctx, target); err != nil { // the memory may be of another day
		return nil, err
	}
	return f, f.admit(f.inv)
}

// admit refuses a claim that is older than the one that the inventory holds.
// Another Delivery's claim is no obstacle: a target has one Delivery, and this is
// the one that it has now, unless it is about to delete the target.
func (f *fence) admit(inv *Inventory) error {
	taken := f.deletes && inv.Delivery != f.claim.Delivery && (inv.Delivery != f.holder || f.holder == "")
	if taken || inv.Delivery == f.claim.Delivery && f.claim.before(inv.Claim) {
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
// as it is from a rollout's second step on. Whoever is found at work may go on
// writing until his proof is too old; take returns after that.
func (f *fence) take(ctx context.Context, bundle string, keys []diff.Record) error {
	f.turn.Lock()
	defer f.turn.Unlock()
	if f.holds(f.inv) == nil && (f.inv.Retry == f.claim.Retry && f.inv.Step < f.claim.Step && f.claim.Attempt == 1 || f.inv.Claim == f.claim) {
		return nil
	}
	busy := false
	err := f.update(ctx, func(inv *Inventory) error {
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
		busy = busy || inv.Busy
		inv.Bundle, inv.Busy = bundle, true
		return nil
	})
	if err == nil && busy && !pause(ctx, freshness) {
		return context.Cause(ctx)
	}
	return err
}

// report is what a step has done.
type report struct {
	done []diff.Record
	gone []gitops.ObjectKey
	last bool // the rollout writes nothing more
	// delivered is the digest of the bundle that was carried out to its end, if any.
	delivered string
}

// record notes what a step has done.
func (f *fence) record(ctx context.Context, r report) error {
	f.turn.Lock()
	defer f.turn.Unlock()
	return f.update(ctx, func(inv *Inventory) error {
		if err := f.holds(inv); err != nil {
			return err
		}
		records := inv.byKey()
		for _, key := range r.gone {
			delete(records, key)
		}
		for _, rec := range r.done { // after what was in the way of it
			records[rec.Key] = rec
		}
		inv.setRecords(records)
		inv.Busy = !r.last
		if r.delivered != "" {
			inv.Delivered = r.delivered
		}
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
		started := time.Now()
		err := f.region.writeInventory(ctx, f.inv)
		if err == nil {
			f.prove(started)
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
	age := f.age()
	if age >= renewAfter && age < freshness && f.turn.TryLock() {
		go func() {
			defer f.turn.Unlock()
			_ = f.renew(ctx) // who finds the proof too old hears of it
		}()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if age < freshness {
		return nil
	}
	f.turn.Lock()
	defer f.turn.Unlock()
	if f.age() < freshness { // somebody has renewed it meanwhile
		return nil
	}
	return f.renew(ctx)
}

// renew asks the region whether the claim is ours; the turn is held.
func (f *fence) renew(ctx context.Context) error {
	started := time.Now()
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
	if err == nil {
		f.prove(started)
	}
	return err
}

type fenceKey struct{}

// behind makes writes look once more, right before they are sent, whether the fence's
// proof is fresh: a worker may have been frozen since check.
func (f *fence) behind(ctx context.Context) context.Context {
	return context.WithValue(ctx, fenceKey{}, f)
}

// errStale means that a write was not sent since the proof of its claim was too old.
var errStale = errors.New("the proof of the claim was too old to write")

func isStale(ctx context.Context) bool {
	f, ok := ctx.Value(fenceKey{}).(*fence)
	return ok && f.age() >= freshness
}

// proveAnew proves the claim of whoever writes.
func proveAnew(ctx context.Context) error {
	f, ok := ctx.Value(fenceKey{}).(*fence)
	if !ok {
		return nil
	}
	return f.check(ctx)
}

func (f *fence) prove(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.proven = at
}

func (f *fence) age() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Since(f.proven)
}
