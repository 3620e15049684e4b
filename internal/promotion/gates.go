package promotion

import (
	"fmt"
	"slices"

	"github.com/tidegate/tidegate/internal/gitops"
)

// syncGate is the name of the gate that targets without an automated sync policy
// imply.
const syncGate = "sync"

// gates are what a release must meet before it enters a stage. A stage with a
// target that is not synced automatically has a gate that a sync opens, unless
// somebody has to approve anyway.
func (m *machine) gates(i int) []gitops.Gate {
	declared := m.declared(m.Stages[i].Name)
	var gates []gitops.Gate
	asked := false
	for _, g := range declared.Gates {
		if g.Kind == gitops.GatePrune {
			continue // holds the prune step, not the entry
		}
		gates = append(gates, g)
		asked = asked || g.Kind == gitops.GateApproval || g.Kind == gitops.GateSync
	}
	if asked {
		return gates
	}
	for _, name := range declared.Targets {
		if t, ok := m.Spec.Target(name); ok && !t.SyncPolicy.Automated {
			return append(gates, gitops.Gate{Name: syncGate, Kind: gitops.GateSync})
		}
	}
	return gates
}

// wait starts a rollout of a release that waits at the stage's gates.
func (m *machine) wait(i int, candidate Rollout) {
	st := &m.Stages[i]
	for j := range st.Waiting {
		if w := &st.Waiting[j]; w.Release == candidate.Release && !w.Stopping {
			if candidate.SyncBy != "" {
				m.approveSync(w, candidate.SyncBy)
			}
			if candidate.Carried != "" {
				w.Carried = candidate.Carried
				m.carry(w)
			}
			return
		}
	}
	r, ok := m.newRollout(i, candidate)
	if !ok {
		return
	}
	st.Waiting = append(st.Waiting, r)
	m.command(Command{Kind: StartRollout, Stage: st.Name, Rollout: r.Number, Release: r.Release, Targets: r.Targets, Gates: r.Gates})
	m.limit(i, r.Number)
}

// limit closes the oldest candidates above the bound, but for the newest, those
// that were approved and the one to keep. Of those whose approval is carried on
// the oldest goes last: a newer one that is chosen would close it anyway.
func (m *machine) limit(i, keep int) {
	st := &m.Stages[i]
	for liveCandidates(st) > maxWaiting {
		newest := newestCandidate(st)
		oldest := oldestCandidate(st, func(j int, w Rollout) bool {
			return j != newest && w.Number != keep && w.Phase != gitops.PhaseApproved && w.Carried == ""
		})
		if oldest < 0 {
			oldest = oldestCandidate(st, func(j int, w Rollout) bool { return j != newest && w.Phase != gitops.PhaseApproved })
		}
		if oldest < 0 {
			return
		}
		m.closeCandidate(&st.Waiting[oldest], "newer releases wait at the gate")
	}
}

func liveCandidates(st *StageState) int {
	live := 0
	for _, w := range st.Waiting {
		if !w.Stopping {
			live++
		}
	}
	return live
}

// oldestCandidate is the place of the candidate with the oldest release among
// those that may go; -1 when there is none.
func oldestCandidate(st *StageState, mayGo func(place int, w Rollout) bool) int {
	oldest := -1
	for j, w := range st.Waiting {
		if !w.Stopping && mayGo(j, w) && (oldest < 0 || w.Release < st.Waiting[oldest].Release) {
			oldest = j
		}
	}
	return oldest
}

// newestCandidate is the place of the candidate with the newest release; -1
// when none waits.
func newestCandidate(st *StageState) int {
	newest := -1
	for j, w := range st.Waiting {
		if !w.Stopping && (newest < 0 || w.Release > st.Waiting[newest].Release) {
			newest = j
		}
	}
	return newest
}

// closeOlder closes the candidates that a chosen release leaves behind.
func (m *machine) closeOlder(i, release int) {
	st := &m.Stages[i]
	for j := range st.Waiting {
		if w := &st.Waiting[j]; w.Release < release {
			m.closeCandidate(w, fmt.Sprintf("release %d was chosen", release))
		}
	}
}

func (m *machine) closeCandidate(r *Rollout, reason string) {
	if r.Stopping {
		return
	}
	r.Stopping = true
	m.kept = true
	m.command(Command{Kind: CloseRollout, Stage: r.Stage, Rollout: r.Number, Release: r.Release, Reason: reason})
}

// regate brings what waits for a stage into line with a changed specification:
// a candidate with other gates or targets is replaced by a new one of the same
// release, the newest only; so is a queued release that has to wait now.
func (m *machine) regate(i int) {
	st := &m.Stages[i]
	if st.Retired {
		return
	}
	gates, again := m.gates(i), 0
	for j := range st.Waiting {
		w := &st.Waiting[j]
		if w.Stopping || w.Release >= m.Floor && gitops.SameGates(w.Gates, gates) && slices.Equal(w.Targets, m.targetsFor(i, w.Release)) {
			continue
		}
		m.closeCandidate(w, "the specification has changed")
		again = max(again, w.Release)
	}
	if st.Next < m.Floor {
		st.Back = false
	}
	if len(gates) > 0 && !st.Back || st.Next < m.Floor {
		again = max(again, st.Next)
		st.Next = 0
	}
	if again > 0 && again >= m.Floor {
		m.offer(i, Rollout{Release: again})
	}
}
