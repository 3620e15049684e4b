package promotion

import (
	"slices"

	"github.com/tidegate/tidegate/internal/gitops"
)

// enter offers a stage the release that may come in now: the newest of all to
// the first stage, what has passed the stage before to any other. A stage
// without targets lets everything through.
func (m *machine) enter(i int) {
	st := &m.Stages[i]
	if st.Retired {
		m.retire(i)
		return
	}
	m.pass(i)
	release := m.Newest()
	if i > 0 {
		release = m.Stages[i-1].Passed
	}
	if release <= st.Offered || release < m.Floor {
		return
	}
	st.Offered = release
	if m.isQuarantined(release) {
		return
	}
	if len(m.declared(st.Name).Targets) == 0 {
		st.Current, st.LastStarted, st.Passed = release, release, release
		return
	}
	m.offer(i, Rollout{Release: release})
}

// offer makes a release a candidate at the stage's gate, or its next.
func (m *machine) offer(i int, candidate Rollout) {
	if m.isQuarantined(candidate.Release) {
		return
	}
	if len(m.gates(i)) > 0 {
		m.wait(i, candidate)
		return
	}
	if st := &m.Stages[i]; candidate.Release > st.Next {
		st.Next, st.Back = candidate.Release, false
	}
}

// pass lets a stage's release on to the next stage once it is healthy here, on
// more than half of the targets: the others were unreachable, and may still have
// to catch up.
func (m *machine) pass(i int) {
	st := &m.Stages[i]
	if st.Running != nil || st.Current <= st.Passed || st.Current != st.LastStarted || st.Current == st.Failed {
		return
	}
	names := m.targetsFor(i, st.Current)
	reached := 0
	for _, name := range names {
		if t := m.target(name); t.Release == st.Current && t.Phase == gitops.TargetHealthy {
			reached++
		}
	}
	if 2*reached <= len(names) {
		return
	}
	st.Passed = st.Current
	m.kept = true
}

// retire ends what is open in a stage that the specification no longer has.
func (m *machine) retire(i int) {
	st := &m.Stages[i]
	for j := range st.Waiting {
		m.closeCandidate(&st.Waiting[j], "the stage was retired")
	}
	if r := st.Running; r != nil && !r.Stopping {
		m.stop(r, 0, "the stage was retired")
	}
}

// targetsFor are the targets of a stage that a release has a bundle for, sorted;
// without those that run a newer one already, as a target may that was moved
// here from another stage. One that is quarantined is no newer one.
func (m *machine) targetsFor(i, release int) []string {
	r, ok := m.Release(release)
	if !ok {
		return nil
	}
	var names []string
	for _, name := range m.declared(m.Stages[i].Name).Targets {
		t := m.target(name)
		if _, made := r.Bundle(name); made && t != nil && m.mayFollow(t.Release, release) {
			names = append(names, name)
		}
	}
	return slices.Compact(names)
}

// newRollout numbers a rollout of a release into a stage. There is none when the
// release has nothing for the stage, or is too old to start.
func (m *machine) newRollout(i int, r Rollout) (Rollout, bool) {
	st := &m.Stages[i]
	if r.Targets == nil {
		r.Targets = m.targetsFor(i, r.Release)
	}
	tooOld := r.Release < m.Floor || r.Release < st.LastStarted && !r.CatchUp && !r.Back && !m.isQuarantined(st.LastStarted)
	if st.Retired || tooOld || m.isQuarantined(r.Release) || len(r.Targets) == 0 {
		return Rollout{}, false
	}
	r.Number, r.Stage, r.Phase, r.Started, r.Total = m.NextRollout, st.Name, gitops.PhasePlanning, m.now, len(r.Targets)
	if !r.CatchUp && !r.Back {
		r.Gates = m.gates(i)
	}
	m.NextRollout++
	m.kept = true
	return r, true
}
