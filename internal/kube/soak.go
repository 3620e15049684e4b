package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
)

// SoakInput is a target to which a plan was delivered, and that is watched.
type SoakInput struct {
	Plan Plan
	// For is how long all objects must be healthy without a break.
	For time.Duration
	// Since is when an attempt before has seen them to be healthy; zero when none has.
	Since time.Time
	// Patience is how long some of them may be unhealthy.
	Patience time.Duration
	// Progress, if set, is told now and then how it goes, and since when they are
	// healthy; the zero time when they are not.
	Progress func(message string, since time.Time)
}

// Soak returns when every object of a target that has a health has been healthy for as
// long as asked, without a break; with those that are not when they do not recover. It
// returns ErrUnreachable when the region has stopped answering.
func (r *Region) Soak(ctx context.Context, in SoakInput) (Outcome, error) {
	outcome, err := r.soak(ctx, in)
	if err != nil {
		return outcome, fmt.Errorf("watch %s in region %s: %w", in.Plan.Target, r.settings.Name, err)
	}
	return outcome, nil
}

func (r *Region) soak(ctx context.Context, in SoakInput) (Outcome, error) {
	if err := r.tracker.learn(in.Plan.Health); err != nil {
		return Outcome{}, err
	}
	inv, err := r.Inventory(ctx, in.Plan.Target)
	if err != nil {
		return Outcome{}, err
	}
	s := soaking{SoakInput: in, lost: time.Now()}
	s.waiter = waiter{waiting: waiting{healthy: in.Plan.soaked(inv)}, tracker: r.tracker, started: time.Now(), woken: make(chan struct{}, 1)}
	defer s.release()
	if err := s.subscribe(ctx); err != nil {
		return Outcome{}, err
	}
	defer r.tracker.keepPulse()()
	return s.watch(ctx)
}

// soaked are the records of the objects whose health counts.
func (p Plan) soaked(inv *Inventory) (records []diff.Record) {
	known := inv.byKey()
	for _, step := range p.Steps {
		for _, group := range step.Groups {
			for _, o := range group {
				if rec, ok := known[o.Key]; ok && o.Tracked && o.Hook == nil {
					records = append(records, rec)
				}
			}
		}
	}
	return records
}

// soaking is one Soak.
type soaking struct {
	waiter
	SoakInput
	lost   time.Time // health was lost, or was never seen
	issues []gitops.ObjectIssue
}

func (s *soaking) watch(ctx context.Context) (Outcome, error) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		if outcome, done := s.look(time.Now()); done {
			return outcome, nil
		}
		select {
		case <-s.woken:
		case <-second.C:
			if down := s.tracker.region.pulse.downFor(); down >= s.tracker.region.settings.Unreachable {
				return Outcome{}, fmt.Errorf("%w: for %s", ErrUnreachable, down.Round(time.Second))
			}
			s.tell()
		case <-ctx.Done():
			return Outcome{}, context.Cause(ctx)
		case <-s.tracker.ctx.Done():
			return Outcome{}, errors.New("the region was closed")
		}
	}
}

// look judges every object, and says whether that is the end.
func (s *soaking) look(now time.Time) (outcome Outcome, done bool) {
	outcome.Health = gitops.Healthy
	for _, p := range s.pending {
		if status, message := p.judge(); status != gitops.Healthy {
			outcome.Health = outcome.Health.Worse(status)
			outcome.Issues = append(outcome.Issues, gitops.ObjectIssue{Object: p.Key.String(), Health: status, Message: clip(message)})
		}
	}
	sortIssues(outcome.Issues)
	s.issues = outcome.Issues
	switch {
	case len(outcome.Issues) == 0:
		if s.Since.IsZero() {
			s.Since = now
		}
		return outcome, now.Sub(s.Since) >= s.For
	case !s.Since.IsZero():
		s.Since, s.lost = time.Time{}, now
	}
	return outcome, now.Sub(s.lost) >= s.Patience
}

func (s *soaking) tell() {
	switch {
	case s.Progress == nil:
	case len(s.issues) > 0:
		s.Progress(fmt.Sprintf("not healthy for %s: %s %s", time.Since(s.lost).Round(time.Second), s.issues[0].Object, s.issues[0].Message), time.Time{})
	default:
		s.Progress(fmt.Sprintf("healthy for %s of %s", time.Since(s.Since).Round(time.Second), s.For), s.Since)
	}
}
