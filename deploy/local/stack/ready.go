package stack

import (
	"context"
	"fmt"
	"time"
)

const (
	readyEvery     = 150 * time.Millisecond
	attemptTimeout = 10 * time.Second
	readyTimeout   = 5 * time.Minute // a cold start of many servers on few cores that others use too
)

// waitReady calls ready until it succeeds. It gives up when the process ends, when the context does, or when five minutes
// have passed, and then says what the process printed last.
func (p *Process) waitReady(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("not ready after %s", readyTimeout))
	defer cancel()
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for {
		attempt, done := context.WithTimeout(ctx, attemptTimeout)
		err := ready(attempt)
		done()
		if err == nil {
			return nil
		}
		if !p.Alive() {
			return p.ended()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: %w; the end of %s:\n%s", p.Name, context.Cause(ctx), err, p.Log, p.lastLines(8))
		}
	}
}
