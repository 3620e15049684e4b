// Package watch follows a rollout, or a Delivery's release through all of its
// stages, on a terminal or line by line.
package watch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/tidegate/tidegate/starter/client"
	"github.com/tidegate/tidegate/starter/screen"
)

// Options say what is followed, how far, and where it is shown. Client and Out
// are required.
type Options struct {
	Client client.Client
	Out    io.Writer
	// Size is the terminal's columns and rows. When it is nil Out is not a
	// terminal: what changes is written, line by line.
	Size    func() (width, height int)
	Palette screen.Palette
	// Revision is a commit, or its first digits, whose release is followed; the
	// newest release is when it is empty.
	Revision string
	// UntilGate makes a watch end at a gate that waits for somebody.
	UntilGate bool
	// Every is the time between two looks; 250 ms when zero.
	Every time.Duration
	// Patience is how long a server that answered before may be gone; a minute
	// when zero.
	Patience time.Duration
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Outcome is how what was watched ended.
type Outcome string

// The outcomes.
const (
	Healthy Outcome = "healthy" // every stage has it, or every reachable target
	AtGate  Outcome = "at a gate"
	Failed  Outcome = "failed"
	Stopped Outcome = "stopped" // superseded, rejected, closed or aborted
)

// End is an Outcome with a sentence for people.
type End struct {
	Outcome Outcome
	Message string
}

// Delivery follows a release of a Delivery (project/name) until every stage has
// it, a stage has failed or refused it, or, if wanted, it waits at a gate. The
// error says why it could not be followed any longer.
func Delivery(ctx context.Context, key string, o Options) (End, error) {
	o = o.withDefaults()
	d := delivery{key: key, client: o.Client, revision: o.Revision, untilGate: o.UntilGate}
	began := o.Now()
	return follow(ctx, o, func(ctx context.Context) (View, error) {
		view, err := d.look(ctx)
		if o.Revision != "" && client.Is(err, http.StatusNotFound) && o.Now().Sub(began) < undeclared {
			return View{Title: key + "  is not declared yet"}, nil
		}
		return view, err
	})
}

// undeclared is how long the Delivery of a revision may be unknown: a commit that
// was just made may be what declares it.
const undeclared = 15 * time.Second

// Rollout follows one rollout until it ends or, if wanted, waits at a gate.
func Rollout(ctx context.Context, id client.RolloutID, o Options) (End, error) {
	o = o.withDefaults()
	return follow(ctx, o, func(ctx context.Context) (View, error) {
		status, err := o.Client.Rollout(ctx, id)
		if err != nil {
			return View{}, err
		}
		return viewOfRollout(id, status, o.UntilGate), nil
	})
}

func (o Options) withDefaults() Options {
	if o.Every == 0 {
		o.Every = 250 * time.Millisecond
	}
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// follow looks and shows until the end is seen. A server that has answered once
// may be gone for a while: it is being restarted.
func follow(ctx context.Context, o Options, look func(context.Context) (View, error)) (End, error) {
	ticker := time.NewTicker(o.Every)
	defer ticker.Stop()
	show := o.display()
	var seen time.Time
	for {
		view, err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return End{}, ctx.Err()
		case err == nil:
			seen = o.Now()
			if err := show(view); err != nil {
				return End{}, err
			}
			if view.End != nil {
				return *view.End, nil
			}
		case seen.IsZero() || !mayPass(err) || o.Now().Sub(seen) > o.Patience:
			return End{}, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return End{}, ctx.Err()
		}
	}
}

// mayPass says whether an error is one of a server that is being restarted, or
// has lost Temporal.
func mayPass(err error) bool {
	return errors.Is(err, client.ErrNoServer) || client.Is(err, http.StatusServiceUnavailable)
}
