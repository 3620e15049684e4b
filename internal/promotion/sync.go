package promotion

import (
	"slices"

	"github.com/tidegate/tidegate/internal/gitops"
)

// syncRequested does the first of these that there is something to do for: open
// the sync gates of waiting candidates and retry what has failed, deletions too; deliver what
// was delivered last again. A broken render is tried again in any case.
func (m *machine) syncRequested(e Event) {
	if m.Render.Error != "" {
		m.Render.Dirty = true
	}
	if e.Scope != nil && !e.Scope.IsZero() {
		m.syncScoped(e)
		return
	}
	done := m.retryDeletion(e.Names)
	var stages []int
	for i, st := range m.Stages {
		if !st.Retired && m.concerns(i, e.Names) {
			stages = append(stages, i)
		}
	}
	for _, i := range stages {
		done = m.openOrRetry(i, e.By) || done
	}
	for _, i := range stages {
		st := &m.Stages[i]
		if !done && st.Running == nil && st.Next == 0 && newestCandidate(st) < 0 {
			m.offer(i, Rollout{Release: m.wanted(i), SyncBy: e.By})
		}
	}
}

// syncScoped delivers what was started last again, to the extent that was asked, in
// every stage that nothing is at work in. It needs no gate: the release has passed it.
func (m *machine) syncScoped(e Event) {
	for i := range m.Stages {
		st := &m.Stages[i]
		targets := m.targetsFor(i, st.LastStarted)
		if len(e.Names) > 0 {
			targets = slices.DeleteFunc(targets, func(name string) bool { return !slices.Contains(e.Names, name) })
		}
		if st.Running != nil || len(targets) == 0 || m.taken(i, targets) {
			continue
		}
		if r, ok := m.newRollout(i, Rollout{Release: st.LastStarted, Targets: targets, CatchUp: true, Scope: e.Scope}); ok {
			m.start(i, r)
		}
	}
}

// isPartial says whether a rollout delivers some of the objects only: how it fares says
// nothing of its targets.
func (r Rollout) isPartial() bool { return r.Scope != nil && len(r.Scope.Resources) > 0 }

// concerns says whether a stage has one of the named targets; no names are all.
func (m *machine) concerns(i int, names []string) bool {
	declared := m.declared(m.Stages[i].Name).Targets
	return len(names) == 0 || slices.ContainsFunc(declared, func(n string) bool { return slices.Contains(names, n) })
}

func (m *machine) openOrRetry(i int, by string) bool {
	st := &m.Stages[i]
	if newest := newestCandidate(st); newest >= 0 {
		r := &st.Waiting[newest]
		if slices.ContainsFunc(r.Gates, func(g gitops.Gate) bool { return g.Kind == gitops.GateSync }) {
			m.approveSync(r, by)
			return true
		}
	}
	if st.Failed == 0 || st.Running != nil || st.Next != 0 {
		return false
	}
	release := max(st.Failed, st.LastStarted)
	if m.isQuarantined(release) {
		release = st.LastStarted
	}
	m.offer(i, Rollout{Release: release, SyncBy: by})
	return true
}

// reopenRequested lets a release wait at a gate again that had its turn there. One
// that is having it needs no other.
func (m *machine) reopenRequested(e Event) {
	i := m.stage(e.Stage)
	if i < 0 || m.Stages[i].Retired || len(m.gates(i)) == 0 || e.Release <= m.Stages[i].Current {
		return
	}
	if r := m.Stages[i].Running; r != nil && r.Release == e.Release && !r.CatchUp {
		return
	}
	if slices.ContainsFunc(m.Rollouts, func(r Rollout) bool { return r.Stage == e.Stage && r.Release == e.Release && !r.CatchUp }) {
		m.wait(i, Rollout{Release: e.Release})
	}
}
