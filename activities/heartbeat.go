package activities

import (
	"context"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
)

// heartbeatEvery keeps an activity alive while it waits for something else. It
// stays well below every heartbeat timeout in workflows/steps.go.
const heartbeatEvery = time.Second

// beat heartbeats until the returned function is called. It uses the activity's
// own context: one derived from it could end early and make a healthy attempt
// look dead.
func beat(ctx context.Context) (stop func()) { return beatSaying(ctx, nil) }

// beatSaying is beat with words that the Web UI shows: what was stored last.
func beatSaying(ctx context.Context, said *atomic.Value) (stop func()) {
	return beatDoing(ctx, func() {
		if said == nil || said.Load() == nil {
			activity.RecordHeartbeat(ctx)
			return
		}
		activity.RecordHeartbeat(ctx, said.Load())
	})
}

// beatDoing heartbeats by a function until the one that it returns is called.
func beatDoing(ctx context.Context, record func()) (stop func()) {
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(heartbeatEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if ctx.Err() == nil {
					record()
				}
			case <-done:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { close(done) }
}
