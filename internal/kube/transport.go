package kube

import (
	"context"
	"net/http"
	"sync"
	"time"
)

type callerKey struct{}

// WithCaller names on whose behalf requests are made, such as
// "rollout=shop/web/prod#7 attempt=2". It becomes part of the user agent, so that
// a region's audit log tells who wrote.
func WithCaller(ctx context.Context, caller string) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

func hasCaller(ctx context.Context) bool { return ctx.Value(callerKey{}) != nil }

// transport adds the caller to the user agent and takes the region's pulse.
type transport struct {
	next  http.RoundTripper
	pulse *pulse
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if caller, ok := ctx.Value(callerKey{}).(string); ok {
		req = req.Clone(ctx)
		req.Header.Set("User-Agent", req.Header.Get("User-Agent")+" "+caller)
	}
	if isWrite(req) && isStale(ctx) {
		return nil, errStale
	}
	started := time.Now()
	resp, err := t.next.RoundTrip(req)
	switch {
	case err == nil:
		t.pulse.answered()
	case ctx.Err() == nil: // nobody gave up: it is the connection
		t.pulse.failed(started)
	}
	return resp, err
}

func isWrite(req *http.Request) bool {
	return req.Method != http.MethodGet && req.Method != http.MethodHead
}

// WrappedRoundTripper lets client-go close idle connections through this layer.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// pulse knows since when a region has not answered. Any response counts as an
// answer, errors of the server too.
type pulse struct {
	mu       sync.Mutex
	last     time.Time // of the last answer
	failing  time.Time // start of the first request that failed since then; zero when it answers
	tried    time.Time // when a region that is down was tried last
	recovery []func()
}

// outage is how long a region must have failed to answer for its recovery to
// matter; a single broken connection does not.
const outage = time.Second

func (p *pulse) answered() {
	p.mu.Lock()
	wasFailing := !p.failing.IsZero() && time.Since(p.failing) >= outage
	p.last, p.failing = time.Now(), time.Time{}
	recovery := p.recovery
	p.mu.Unlock()
	if wasFailing {
		for _, f := range recovery {
			f()
		}
	}
}

func (p *pulse) failed(since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failing.IsZero() {
		p.failing = since
	}
}

// downFor is how long the region has not answered while it was asked.
func (p *pulse) downFor() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failing.IsZero() {
		return 0
	}
	return time.Since(p.failing)
}

// tryEvery is how often a region that does not answer is tried again; in between
// whoever wants something of it is told so at once.
const tryEvery = time.Second

// mayTry says whether it is time to try a region again that does not answer.
func (p *pulse) mayTry() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.tried) < tryEvery {
		return false
	}
	p.tried = time.Now()
	return true
}

// quietFor is how long ago the last answer was.
func (p *pulse) quietFor() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.last)
}

// onRecovery calls f, which must not block, whenever the region answers again
// after an outage.
func (p *pulse) onRecovery(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recovery = append(p.recovery, f)
}
