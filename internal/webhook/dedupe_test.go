package webhook_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/webhook"
)

// clock is a time that a test sets.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{now: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)} }

// begin says whether the delivery is to be handled.
func begin(t *testing.T, d *webhook.Deduper, key string) (claim *webhook.Claim, isNew bool) {
	claim, err := d.Begin(t.Context(), key)
	require.NoError(t, err)
	return claim, claim != nil
}

func handle(t *testing.T, d *webhook.Deduper, key string) {
	claim, isNew := begin(t, d, key)
	require.True(t, isNew, key)
	claim.Commit()
}

func TestAHandledDeliveryIsADuplicateForFiveMinutes(t *testing.T) {
	c := newClock()
	d := webhook.Deduper{Now: func() time.Time { return c.now }}
	handle(t, &d, "a")
	c.now = c.now.Add(5*time.Minute - 1)
	_, isNew := begin(t, &d, "a")
	require.False(t, isNew)
	handle(t, &d, "b")
	c.now = c.now.Add(1)
	handle(t, &d, "a")
	_, isNew = begin(t, &d, "b")
	require.False(t, isNew)
}

func TestAFailedStartDoesNotSwallowTheRetry(t *testing.T) {
	var d webhook.Deduper
	claim, _ := begin(t, &d, "a")
	claim.Abort()
	retry, isNew := begin(t, &d, "a")
	require.True(t, isNew)
	retry.Commit()
	retry.Abort()
	_, isNew = begin(t, &d, "a")
	require.False(t, isNew, "an abort after the commit does nothing")
}

func TestARedeliveryWaitsForTheFirstOne(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(*webhook.Claim)
		isNew bool
	}{
		"handled": {(*webhook.Claim).Commit, false},
		"failed":  {(*webhook.Claim).Abort, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d webhook.Deduper
				first, _ := begin(t, &d, "a")
				answered := make(chan bool, 1)
				go func() {
					claim, err := d.Begin(t.Context(), "a")
					answered <- err == nil && claim != nil
				}()
				synctest.Wait()
				require.Empty(t, answered, "not before the first one ended")
				c.end(first)
				require.Equal(t, c.isNew, <-answered)
			})
		})
	}
}

func TestWaitingEndsWithTheRequest(t *testing.T) {
	var d webhook.Deduper
	first, _ := begin(t, &d, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.Begin(ctx, "a")
	require.ErrorIs(t, err, context.Canceled)
	first.Commit()
}

func TestTheOldestDeliveriesAreForgottenBeyondTheLimit(t *testing.T) {
	d := webhook.Deduper{Limit: 3}
	for i := range 5 {
		handle(t, &d, fmt.Sprint(i))
	}
	_, isNew := begin(t, &d, "2")
	require.False(t, isNew)
	handle(t, &d, "1")
}

func TestOfManyAtOnceOneIsHandled(t *testing.T) {
	var d webhook.Deduper
	var handled, failures atomic.Int32
	failures.Store(2)
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			claim, err := d.Begin(t.Context(), "a")
			if err != nil || claim == nil {
				return
			}
			defer claim.Abort()
			if failures.Add(-1) >= 0 {
				return
			}
			handled.Add(1)
			claim.Commit()
		})
	}
	group.Wait()
	require.Equal(t, int32(1), handled.Load())
}
