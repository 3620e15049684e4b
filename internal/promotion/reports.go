package promotion

import (
	"fmt"
	"slices"

	"github.com/tidegate/tidegate/internal/gitops"
)

// reported notes what an open rollout says of itself.
func (m *machine) reported(e Event) {
	if m.isDeletion(e) {
		m.deletionReported(e)
		return
	}
	i, place := m.open(e.Stage, e.Rollout)
	if i < 0 {
		return
	}
	r := m.rolloutAt(i, place)
	if e.Seq != 0 && e.Seq <= r.Report {
		return
	}
	r.Report = max(r.Report, e.Seq)
	m.note(r, e, place < 0)
	if e.Phase.Final() {
		m.finish(i, place, e.Phase)
		return
	}
	if place < 0 {
		m.runningReported(i, e)
	} else {
		m.waitingReported(i, place, e)
	}
}

// gone ends an open rollout whose workflow is closed.
func (m *machine) gone(e Event) {
	if m.isDeletion(e) {
		m.deletionGone(e)
		return
	}
	i, place := m.open(e.Stage, e.Rollout)
	if i < 0 {
		return
	}
	r := m.rolloutAt(i, place)
	if !e.Phase.Final() {
		e.Phase, e.Targets = gitops.PhaseAborted, nil
	}
	if e.Phase == gitops.PhaseAborted && e.Message == "" {
		e.Message = fmt.Sprintf("rollout %d was ended from outside", r.Number)
	}
	m.note(r, e, place < 0)
	m.finish(i, place, e.Phase)
}

// open finds an open rollout: its stage's place, and its own among the waiting
// ones, -1 for the running one. The stage is -1 when there is no such rollout.
func (m *machine) open(stage string, number int) (i, place int) {
	i = m.stage(stage)
	if i < 0 {
		return -1, -1
	}
	if r := m.Stages[i].Running; r != nil && r.Number == number {
		return i, -1
	}
	place = slices.IndexFunc(m.Stages[i].Waiting, func(r Rollout) bool { return r.Number == number })
	if place < 0 {
		return -1, -1
	}
	return i, place
}

func (m *machine) rolloutAt(i, place int) *Rollout {
	if place < 0 {
		return m.Stages[i].Running
	}
	return &m.Stages[i].Waiting[place]
}

// runningReported moves a rollout that holds the lock. One that waits at its
// gate again has lost its approval, and the lock with it.
func (m *machine) runningReported(i int, e Event) {
	r := m.Stages[i].Running
	switch e.Phase {
	case gitops.PhaseWaiting:
		if len(r.Gates) > 0 {
			r.Phase = e.Phase
			m.lapse(i)
		}
	case gitops.PhaseApproved:
		// It would not ask for a lock that it holds: the report that it lost its
		// approval was overtaken. An unnumbered report may just be a repeated one.
		if len(r.Gates) > 0 && e.Seq != 0 {
			r.Phase = e.Phase
			m.lapse(i)
		}
	case gitops.PhaseProgressing, gitops.PhaseDegraded:
		m.kept = m.kept || r.Phase != e.Phase
		r.Phase = e.Phase
		r.AtGate, r.Soaking = heldByPrune(e.Targets), soaks(e.Targets)
	}
}

// waitingReported moves a candidate. Once approved it closes the older ones.
func (m *machine) waitingReported(i, place int, e Event) {
	r := &m.Stages[i].Waiting[place]
	if r.Stopping {
		if e.Phase == gitops.PhaseApproved {
			r.Phase = e.Phase // approved before it heard that it is closed
		}
		return
	}
	if !slices.Contains([]gitops.Phase{gitops.PhasePlanning, gitops.PhaseWaiting, gitops.PhaseApproved}, e.Phase) {
		return
	}
	m.kept = m.kept || r.Phase != e.Phase
	r.Phase = e.Phase
	if r.SyncBy != "" {
		m.approveSync(r, r.SyncBy)
	}
	m.carry(r)
	if r.Phase == gitops.PhaseApproved {
		r.SyncBy, r.Carried = "", ""
		m.closeOlder(i, r.Release)
	}
}

// finish takes an ended rollout off its stage and draws the consequences.
func (m *machine) finish(i, place int, phase gitops.Phase) {
	st := &m.Stages[i]
	r := *m.rolloutAt(i, place)
	if place < 0 {
		st.Running = nil
	} else {
		st.Waiting = slices.Delete(st.Waiting, place, place+1)
	}
	m.remember(r, phase)
	if r.Scope != nil {
		return // whoever has asked for it sees how it went
	}
	if place >= 0 {
		m.candidateEnded(i, r, phase)
		return
	}
	switch phase {
	case gitops.PhaseHealthy:
		m.becameHealthy(i, r)
	case gitops.PhaseSuperseded, gitops.PhaseClosed:
		m.resume(i, r)
	default:
		st.Failed = max(st.Failed, r.Release)
		if st.Next == r.Release {
			st.Next, st.Back = 0, false // it was asked for before anybody knew
		}
		m.rollBackFailed(i, r)
	}
}

func (m *machine) becameHealthy(i int, r Rollout) {
	if r.CatchUp {
		return // what failed elsewhere in the stage has still failed
	}
	st := &m.Stages[i]
	st.Current, st.Yields = r.Release, 0
	if st.Failed <= r.Release {
		st.Failed = 0
	}
}

// candidateEnded opens a candidate that was ended from outside once more, so that
// it is not lost; a second time is taken for a decision.
func (m *machine) candidateEnded(i int, r Rollout, phase gitops.Phase) {
	switch {
	case phase == gitops.PhaseFailed:
		m.Stages[i].Failed = max(m.Stages[i].Failed, r.Release)
	case phase == gitops.PhaseClosed && r.Stopping && r.Phase == gitops.PhaseApproved:
		m.keepApproval(i, r)
	case phase == gitops.PhaseAborted && !r.Stopping && !r.Reopened && !m.Stages[i].Retired:
		m.offer(i, Rollout{Release: r.Release, Reopened: true, SyncBy: r.SyncBy})
	}
}

// remember puts an ended rollout into the history.
func (m *machine) remember(r Rollout, phase gitops.Phase) {
	m.kept = true
	m.Rollouts = append(m.Rollouts, Rollout{
		Number: r.Number, Release: r.Release, Stage: r.Stage, Phase: phase, Message: r.Message,
		CatchUp: r.CatchUp, Back: r.Back, Delete: r.Delete, Reopened: r.Reopened, PlanDigest: r.PlanDigest,
		Healthy: r.Healthy, Broken: r.Broken, Unreachable: r.Unreachable, Total: r.Total,
		Started: r.Started, Granted: r.Granted, Finished: m.now,
	})
}

// soaks says whether a rollout has targets that soak, and is at work at no other.
func soaks(targets []TargetOutcome) (soaking bool) {
	for _, t := range targets {
		switch t.Phase {
		case gitops.TargetSoaking:
			soaking = true
		case gitops.TargetApplying, gitops.TargetWaiting, gitops.TargetPruneGate:
			return false
		}
	}
	return soaking
}

// heldByPrune says whether a rollout waits for nothing but the approval of a
// prune.
func heldByPrune(targets []TargetOutcome) bool {
	held := false
	for _, t := range targets {
		switch t.Phase {
		case gitops.TargetPruneGate:
			held = true
		case gitops.TargetPending, gitops.TargetPlanned, gitops.TargetApplying, gitops.TargetWaiting:
			return false
		}
	}
	return held
}
