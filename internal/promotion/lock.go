package promotion

import (
	"slices"
	"time"

	"github.com/tidegate/tidegate/internal/gitops"
)

// moveOn gives a stage's lock to whoever should have it: the newest release that
// was approved or queues, else the targets that must catch up. While somebody
// holds it, that one may have to yield.
func (m *machine) moveOn(i int) {
	st := &m.Stages[i]
	if st.Retired {
		return
	}
	if st.Next > 0 && (st.Next < st.LastStarted && !st.Back || len(m.targetsFor(i, st.Next)) == 0) {
		st.Next, st.Back = 0, false
	}
	approved, release := m.wanting(i)
	switch {
	case st.Running != nil:
		if release > st.Running.Release {
			m.supersede(i, release)
		}
	case release == 0:
		m.catchUp(i)
	case approved >= 0:
		m.grant(i, approved)
	case !m.taken(i, m.targetsFor(i, release)):
		back := st.Back
		st.Next, st.Back = 0, false
		if r, ok := m.newRollout(i, Rollout{Release: release, Back: back}); ok {
			m.start(i, r)
		}
	}
}

// wanting is the release that asks for a stage's lock, 0 for none, and its place
// among the waiting ones, -1 when it has no rollout yet.
func (m *machine) wanting(i int) (place, release int) {
	st := &m.Stages[i]
	place, release = -1, st.Next
	for j, w := range st.Waiting {
		if w.Phase == gitops.PhaseApproved && !w.Stopping && w.Release >= max(release, st.LastStarted) {
			place, release = j, w.Release
		}
	}
	return place, release
}

// taken says whether a rollout of another stage holds one of the targets, or one that
// deletes them. That happens only after a target was moved from stage to stage, or
// declared again: one writer per target, always.
func (m *machine) taken(i int, targets []string) bool {
	for j := range m.Stages {
		r := m.Stages[j].Running
		if j == i || r == nil {
			continue
		}
		if slices.ContainsFunc(targets, func(name string) bool { return slices.Contains(r.Targets, name) }) {
			return true
		}
	}
	return m.isDeleting(targets)
}

// start starts a rollout that holds the lock from the first moment.
func (m *machine) start(i int, r Rollout) {
	m.hold(i, r)
	m.command(Command{
		Kind: StartRollout, Stage: r.Stage, Rollout: r.Number, Release: r.Release,
		Targets: r.Targets, Granted: true, CatchUp: r.CatchUp, Back: r.Back, Scope: r.Scope,
	})
}

// grant gives the lock to a candidate that was approved, once its targets are
// free. When they are no longer what was approved, another candidate takes its
// place.
func (m *machine) grant(i, place int) {
	st := &m.Stages[i]
	r := st.Waiting[place]
	if m.taken(i, r.Targets) {
		return
	}
	if !slices.Equal(r.Targets, m.targetsFor(i, r.Release)) {
		m.closeCandidate(&st.Waiting[place], "its targets have changed")
		m.offer(i, Rollout{Release: r.Release})
		return
	}
	st.Waiting = slices.Delete(st.Waiting, place, place+1)
	m.hold(i, r)
	m.command(Command{Kind: Grant, Stage: r.Stage, Rollout: r.Number, Release: r.Release})
}

func (m *machine) hold(i int, r Rollout) {
	st := &m.Stages[i]
	r.Granted, r.Before, r.FailedBefore = m.now, st.LastStarted, st.Failed
	st.Running = &r
	m.kept = true
	if r.CatchUp {
		return
	}
	st.LastStarted = r.Release
	if st.Failed <= r.Release {
		st.Failed = 0
	}
	if st.Next <= r.Release {
		st.Next, st.Back = 0, false
	}
	m.closeOlder(i, r.Release)
}

// lapse takes the lock back from a rollout that waits at its gate again, since
// its plan is no longer the approved one. It has written nothing, so the release
// does not count as started.
func (m *machine) lapse(i int) {
	st := &m.Stages[i]
	r := *st.Running
	st.Running, st.LastStarted, st.Failed = nil, r.Before, r.FailedBefore
	r.Granted, r.Before, r.FailedBefore = time.Time{}, 0, 0
	st.Waiting = append(st.Waiting, r)
	m.kept = true
	m.limit(i, r.Number)
}
