package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// heartbeatEvery keeps an activity alive while it waits for something else. It
// stays well below every heartbeat timeout in workflows/steps.go.
const heartbeatEvery = time.Second

// beat heartbeats until the returned function is called. It uses the activity's
// own context: one derived from it could end early and make a healthy attempt
// look dead.
func beat(ctx context.Context) (stop func()) {
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(heartbeatEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if ctx.Err() == nil {
					activity.RecordHeartbeat(ctx)
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
