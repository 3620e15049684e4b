package promotion_test

import (
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// rules is the model that a Delivery is held against. It knows nothing of the
// state machine's bookkeeping: only what was ordered, what the rollouts did, and
// what was delivered of their reports.
type rules struct {
	w       *world
	rollout int                     // the greatest number so far
	release int                     // likewise
	begun   map[string]int          // by stage: the newest release that was begun
	touched map[string]int          // by target and region: likewise
	reached map[string]map[int]bool // by target: the releases that were healthy there
	passed  map[string]map[int]bool // by stage: the releases that were healthy on more than half of it
	let     map[string]map[int]bool // by stage: the releases that were let in
	faulty  map[string]int          // by stage: the release that failed last
	yields  map[string]int          // by stage: rollouts cut short while they progressed
	said    map[int]promotion.Event // by rollout: the last report that was delivered
	asked   map[string]bool         // by stage: somebody has synced since the last failure there
}

func newRules(w *world) rules {
	return rules{
		w: w, begun: map[string]int{}, touched: map[string]int{}, reached: map[string]map[int]bool{}, passed: map[string]map[int]bool{}, let: map[string]map[int]bool{},
		faulty: map[string]int{}, yields: map[string]int{}, said: map[int]promotion.Event{}, asked: map[string]bool{},
	}
}

// began is called when a rollout starts to write.
func (m *rules) began(a *actor) {
	require.True(m.w.t, a.granted, "%s writes without the lock", a)
	if a.Delete {
		for _, name := range a.Targets {
			_, declared := m.w.state.Spec.Target(name)
			require.False(m.w.t, declared, "%s deletes %s, which is declared", a, name)
		}
		return
	}
	if !a.CatchUp {
		require.True(m.w.t, a.Release >= m.begun[a.Stage] || a.Back || m.w.left(m.begun[a.Stage]), "%s is older than what was started there last", a)
		m.begun[a.Stage] = a.Release
	}
	for _, o := range a.targets {
		if o.Phase == gitops.TargetUnreachable {
			continue
		}
		place := o.Name + "@" + a.regions[o.Name]
		require.True(m.w.t, a.Release >= m.touched[place] || a.Back || m.w.isBackAt(a.Stage, a.Release) || m.w.left(m.touched[place]) || m.w.same(o.Name, a.Release, m.touched[place]), "%s takes %s back", a, place)
		m.touched[place] = a.Release
	}
}

// left says whether a rollback has left a release behind.
func (w *world) left(release int) bool {
	made, known := w.state.Release(release)
	return slices.ContainsFunc(w.state.Quarantined, func(q promotion.Quarantined) bool {
		bad, remembered := w.state.Release(q.Release)
		return q.Release == release || known && remembered && cmp.Equal(byTarget(bad), byTarget(made))
	})
}

// same says whether two releases have the same for a target.
func (w *world) same(target string, a, b int) bool {
	one, _ := w.state.Release(a)
	other, _ := w.state.Release(b)
	x, known := one.Bundle(target)
	y, knownToo := other.Bundle(target)
	return known && knownToo && x.Digest == y.Digest
}

// byTarget is what a release renders to.
func byTarget(r gitops.Release) map[string]string {
	digests := map[string]string{}
	for _, b := range r.Bundles {
		digests[b.Target] = b.Digest
	}
	return digests
}

// isBackAt says whether a stage was rolled back to a release, from a newer one.
func (w *world) isBackAt(stage string, release int) bool {
	i := slices.IndexFunc(w.state.Stages, func(st promotion.StageState) bool { return st.Name == stage })
	return i >= 0 && w.state.Stages[i].LastStarted == release && slices.ContainsFunc(w.state.Quarantined, func(q promotion.Quarantined) bool { return q.Release > release })
}

// goesBack says whether somebody has a stage rolled back.
func (w *world) goesBack(stage string) bool {
	return slices.ContainsFunc(w.state.Stages, func(st promotion.StageState) bool { return st.Name == stage && st.Back })
}

// deleted is called when a deletion has ended well: what comes after begins anew.
func (m *rules) deleted(a *actor) {
	for _, o := range a.targets {
		if o.Phase == gitops.TargetDeleted {
			delete(m.touched, o.Name+"@"+a.regions[o.Name])
		}
	}
}

// ordered checks a command before it is carried out.
func (m *rules) ordered(c promotion.Command) {
	switch c.Kind {
	case promotion.StartRollout:
		m.started(c)
	case promotion.Grant:
		a := m.w.actor(c.Rollout)
		require.True(m.w.t, a.ended || a.phase == gitops.PhaseApproved, "%s is given the lock without asking", a)
	case promotion.Supersede:
		m.superseded(c)
	case promotion.Render:
		require.Nil(m.w.t, m.w.render, "two renders at once")
	case promotion.Probe:
		require.False(m.w.t, m.w.probing[c.Region], "%s is probed twice", c.Region)
	}
}

func (m *rules) started(c promotion.Command) {
	t := m.w.t
	require.Greater(t, c.Rollout, m.rollout, "rollout numbers must increase")
	m.rollout = c.Rollout
	require.NotEmpty(t, c.Targets)
	if c.Delete {
		require.False(t, c.Granted, "nothing is deleted without an approval")
		require.Equal(t, []gitops.Gate{{Name: "delete", Kind: gitops.GateDelete}}, c.Gates)
		for _, name := range c.Targets {
			_, declared := m.w.state.Spec.Target(name)
			require.False(t, declared, "%s is declared", name)
		}
		return
	}
	stages := m.w.state.Spec.Stages
	i := slices.IndexFunc(stages, func(s gitops.Stage) bool { return s.Name == c.Stage })
	require.GreaterOrEqual(t, i, 0, "a rollout into a stage that does not exist")
	if c.CatchUp {
		require.True(t, c.Granted)
		require.True(t, m.let[c.Stage][c.Release], "a catch-up of a release that never was here")
		return
	}
	require.False(t, m.w.left(c.Release), "release %d is quarantined", c.Release)
	if c.Back {
		require.True(t, c.Granted)
		require.True(t, m.let[c.Stage][c.Release], "a rollback to a release that never was here")
		return
	}
	require.Equal(t, len(c.Gates) == 0, c.Granted, "a gate must be waited at, and nothing else")
	require.Equal(t, m.w.shape.gates[slices.Index(stageNames, c.Stage)] == "", c.Granted, "the stage's gate was passed by")
	if c.Granted {
		require.False(t, !m.asked[c.Stage] && m.faulty[c.Stage] == c.Release, "release %d has failed in %s and is tried again unasked", c.Release, c.Stage)
	}
	if i > 0 {
		require.True(t, m.passed[stages[i-1].Name][c.Release], "release %d enters %s and was not healthy in %s", c.Release, c.Stage, stages[i-1].Name)
	}
	mark(m.let, c.Stage, c.Release)
}

// judge notes which releases have reached more than half of a stage without
// failing there, as far as they have anything for it. Once is enough.
func (m *rules) judge(stages []gitops.Stage) {
	for _, st := range stages {
		for _, release := range m.w.state.Releases {
			made, reached := 0, 0
			for _, name := range st.Targets {
				if _, ok := release.Bundle(name); ok {
					made++
				}
				if m.reached[name][release.Number] {
					reached++
				}
			}
			if 2*reached > made && m.faulty[st.Name] != release.Number {
				mark(m.passed, st.Name, release.Number)
			}
		}
	}
}

func mark(in map[string]map[int]bool, name string, release int) {
	if in[name] == nil {
		in[name] = map[int]bool{}
	}
	in[name][release] = true
}

// superseded counts the rollouts that were cut short although the last that was
// heard of them was good.
func (m *rules) superseded(c promotion.Command) {
	a, heard := m.w.actor(c.Rollout), m.said[c.Rollout]
	require.Empty(m.w.t, a.stop, "%s is stopped twice", a)
	if c.Release == 0 || a.CatchUp || m.w.goesBack(c.Stage) || heard.Phase == gitops.PhaseDegraded || atPruneGate(heard) {
		return
	}
	require.Greater(m.w.t, c.Release, a.Release, "an older release supersedes")
	require.False(m.w.t, soaksIn(heard), "%s is healthy and soaks, and has to yield", a)
	m.yields[c.Stage]++
	require.LessOrEqual(m.w.t, m.yields[c.Stage], 2, "%s progresses and has to yield, the third in a row", a)
}

func soaksIn(e promotion.Event) bool {
	return e.Phase == gitops.PhaseProgressing && slices.ContainsFunc(e.Targets, func(o promotion.TargetOutcome) bool { return o.Phase == gitops.TargetSoaking })
}

func atPruneGate(e promotion.Event) bool {
	return slices.ContainsFunc(e.Targets, func(o promotion.TargetOutcome) bool { return o.Phase == gitops.TargetPruneGate })
}

// heard takes note of what the Delivery is about to be told.
func (m *rules) heard(e promotion.Event) {
	switch e.Kind {
	case promotion.SyncRequested, promotion.ReopenRequested:
		for _, stage := range stageNames {
			m.asked[stage] = true
		}
	case promotion.SpecChanged:
		if e.Spec != nil && len(e.Spec.Stages) < len(stageNames) {
			delete(m.faulty, stageNames[len(stageNames)-1]) // should it come back, it is a new stage
		}
		if e.Spec != nil {
			m.judge(e.Spec.Stages)
		}
	case promotion.RolloutReported, promotion.RolloutGone:
		m.heardOf(e)
	}
}

func (m *rules) heardOf(e promotion.Event) {
	i := slices.IndexFunc(m.w.actors, func(a *actor) bool { return a.Rollout == e.Rollout })
	last, before := m.said[e.Rollout]
	if i < 0 || m.w.actors[i].Stage != e.Stage || before && (last.Phase.Final() || e.Seq != 0 && e.Seq <= last.Seq) {
		return
	}
	a := m.w.actors[i]
	if e.Kind == promotion.RolloutGone && e.Phase == "" {
		e.Phase = gitops.PhaseAborted
	}
	m.said[e.Rollout] = e
	if !a.granted || a.Scope != nil && len(a.Scope.Resources) > 0 {
		return
	}
	switch e.Phase {
	case gitops.PhaseHealthy:
		for _, o := range e.Targets {
			if o.Phase == gitops.TargetHealthy {
				mark(m.reached, o.Name, a.Release)
			}
		}
		if !a.CatchUp {
			m.yields[a.Stage] = 0
			delete(m.faulty, a.Stage)
		}
		m.judge(m.w.state.Spec.Stages)
	case gitops.PhaseFailed, gitops.PhaseAborted:
		if a.Scope != nil {
			return
		}
		m.faulty[a.Stage], m.asked[a.Stage] = max(m.faulty[a.Stage], a.Release), false
	}
}

// hold checks what must be true at every instant.
func (m *rules) hold() {
	t, w := m.w.t, m.w
	holders, waiting, writer := map[string]*actor{}, map[string]int{}, map[string]*actor{}
	open := map[int]bool{}
	for _, r := range w.state.OpenRollouts() {
		open[r.Number] = true
	}
	for _, a := range w.live(func(*actor) bool { return true }) {
		require.True(t, open[a.Rollout], "%s was forgotten", a)
		if !a.granted {
			lapsing := a.lapses > 0 && m.said[a.Rollout].Seq < a.seq // unheard of: it still counts as running
			if a.stop == "" && !lapsing {
				waiting[a.Stage]++
			}
			require.LessOrEqual(t, waiting[a.Stage], 5, "too many wait at %s", a.Stage)
			continue
		}
		require.Nil(t, holders[a.Stage], "%s and %s hold the same lock", holders[a.Stage], a)
		holders[a.Stage] = a
		for _, name := range a.Targets {
			require.Nil(t, writer[name], "%s and %s write to %s", writer[name], a, name)
			writer[name] = a
		}
	}
	for _, r := range w.state.Releases[min(len(w.state.Releases), 0):] {
		require.Less(t, r.Number, w.state.NextRelease)
	}
	require.GreaterOrEqual(t, w.state.Newest(), m.release, "release numbers must increase")
	m.release = w.state.Newest()
	m.fixGoes(holders[stageNames[0]])
}

// fixGoes holds that a rollout of the first stage that has gone bad was asked to
// make way as soon as there is a newer release without a gate, unless that one
// has had its turn: a rejection stands, and what failed or was aborted is not
// tried again by itself.
func (m *rules) fixGoes(a *actor) {
	if a == nil || m.w.shape.gates[0] != "" || m.said[a.Rollout].Phase != gitops.PhaseDegraded {
		return
	}
	if a.Back && a.newest == m.w.state.Newest() {
		return // whoever rolls back does not want what was queued
	}
	if newest := m.w.state.Newest(); newest > a.Release && newest >= m.w.state.Floor && !m.w.left(newest) && !m.hadItsTurn(stageNames[0], newest) {
		require.NotEmpty(m.w.t, a.stop, "%s blocks release %d, which may mend it", a, m.w.state.Newest())
	}
}

// hadItsTurn says whether a release was rejected at a stage's gate, or has failed
// in the stage, or was aborted there.
func (m *rules) hadItsTurn(stage string, release int) bool {
	return slices.ContainsFunc(m.w.actors, func(a *actor) bool {
		if a.Stage != stage || a.Release != release || !a.ended {
			return false
		}
		switch a.final {
		case gitops.PhaseRejected, gitops.PhaseFailed, gitops.PhaseAborted, "":
			return true
		default:
			return false
		}
	})
}
