package kube

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	firstDelay = 100 * time.Millisecond
	maxDelay   = 2 * time.Second
	// silence is how long a request may stay unanswered before the region is asked
	// whether it is there at all; a request may rightly take long, in a webhook.
	silence = 4 * time.Second
	// askTimeout is how long that question may stay unanswered.
	askTimeout = 2 * time.Second
)

// try makes a request until it succeeds, fails for good, or there is no more
// patience. It returns ErrUnreachable when the region has stopped answering, and
// the context's error as soon as the context ends.
func (r *Region) try(ctx context.Context, request func(context.Context) error) error {
	if down := r.pulse.downFor(); down >= r.settings.Unreachable && !r.pulse.mayTry() {
		return fmt.Errorf("%w: for %s", ErrUnreachable, down.Round(time.Second))
	}
	started, delay := time.Now(), firstDelay
	patience := r.patienceOf(ctx)
	for {
		err := r.once(ctx, request)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, errStale) {
			if err := proveAnew(ctx); err != nil {
				return err
			}
			continue
		}
		switch severityOf(err) {
		case final:
			return r.typed(err)
		case down:
			if r.pulse.downFor() >= r.settings.Unreachable {
				return fmt.Errorf("%w: %w", ErrUnreachable, err)
			}
		case passing:
		}
		if time.Since(started) > patience {
			return err
		}
		if !pause(ctx, pauseAfter(err, delay)) {
			return context.Cause(ctx)
		}
		delay = min(2*delay, maxDelay)
	}
}

type patienceKey struct{}

// withPatience makes requests be retried for another time than the region's.
func withPatience(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, patienceKey{}, d)
}

func (r *Region) patienceOf(ctx context.Context) time.Duration {
	if d, ok := ctx.Value(patienceKey{}).(time.Duration); ok {
		return min(d, r.settings.Patience)
	}
	return r.settings.Patience
}

// pauseAfter is the server's wish, if it has one, else the delay; both with
// jitter, so that many clients do not come back at once.
func pauseAfter(err error, delay time.Duration) time.Duration {
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok && seconds > 0 {
		delay = time.Duration(seconds) * time.Second
	}
	return delay/2 + rand.N(delay) //nolint:gosec // spreads load; nothing secret
}

// pause waits; false when the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// once makes a request and gives it up when its region falls silent: a frozen
// server keeps connections open for ever.
func (r *Region) once(ctx context.Context, request func(context.Context) error) error {
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	started := time.Now()
	watch := time.AfterFunc(silence, func() { r.watch(watched, cancel, started) })
	defer watch.Stop()
	err := request(watched)
	if err != nil && errors.Is(context.Cause(watched), errSilent) {
		return errSilent
	}
	return err
}

// watch cancels a request when the region does not answer a question either.
func (r *Region) watch(ctx context.Context, cancel context.CancelCauseFunc, started time.Time) {
	for ctx.Err() == nil {
		if !r.answers(ctx) {
			r.pulse.failed(started)
			cancel(errSilent)
			return
		}
		pause(ctx, silence)
	}
}

// answers says whether the region is there, asking it when it has been quiet.
func (r *Region) answers(ctx context.Context) bool {
	if r.pulse.quietFor() < silence {
		return true
	}
	return r.ask(ctx)
}

// ask makes the cheapest request there is. Its outcome is in the pulse.
func (r *Region) ask(ctx context.Context) bool {
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	started := time.Now()
	err := r.rest.Get().AbsPath("/version").MaxRetries(0).Do(asking).Error()
	if err == nil || severityOf(err) != down {
		return true
	}
	if ctx.Err() == nil {
		r.pulse.failed(started)
	}
	return false
}
