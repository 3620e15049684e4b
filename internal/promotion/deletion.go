package promotion

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/tidegate/tidegate/internal/gitops"
)

// deleteGate is the name of the gate at which every deletion of targets waits.
const deleteGate = "delete"

// retired takes leave of all that was declared.
func (m *machine) retired() {
	if m.Retired {
		return
	}
	nothing := gitops.Delivery{Project: m.Spec.Project, Name: m.Spec.Name}
	m.depart(nothing)
	m.adopt(nothing)
	m.Retired, m.Render.Dirty, m.kept = true, false, true
}

// depart notes the targets of which the next specification has nothing any more and
// whose objects go with them. One that is declared again stays as it is.
func (m *machine) depart(next gitops.Delivery) {
	declared := func(name string) bool { _, ok := next.Target(name); return ok }
	m.Leaving = slices.DeleteFunc(m.Leaving, func(l Leaving) bool { return declared(l.Target.Name) })
	for _, t := range m.Spec.Targets {
		release := m.begunAt(t.Name)
		if !t.Finalizer || declared(t.Name) || release == 0 {
			continue
		}
		made, _ := m.Release(release)
		bundle, _ := made.Bundle(t.Name)
		m.Leaving = append(m.Leaving, Leaving{Target: t, Release: release, Bundle: bundle, Since: m.now})
	}
	slices.SortStableFunc(m.Leaving, func(a, b Leaving) int { return cmp.Compare(a.Target.Name, b.Target.Name) })
}

// begunAt is the last release that was begun at a target, as far as is known; 0 when
// none was.
func (m *machine) begunAt(name string) (release int) {
	if t := m.target(name); t != nil {
		release = t.Release
	}
	for _, st := range m.Stages {
		if r := st.Running; r != nil && slices.Contains(r.Targets, name) {
			release = max(release, r.Release)
		}
	}
	return release
}

// deleteLeaving has the targets deleted that are no longer declared: by one rollout at
// a time, which waits for an approval first.
func (m *machine) deleteLeaving() {
	names, d := m.deletable(), m.Deletion
	switch {
	case d == nil && len(names) > 0 && !m.isWritten(names):
		m.startDeletion(names)
	case d == nil:
	case !d.Granted.IsZero():
		if !d.Stopping && slices.ContainsFunc(d.Targets, func(name string) bool { return m.leaving(name) == nil }) {
			m.stop(d, 0, "the targets are no longer to be deleted")
		}
	case !slices.Equal(d.Targets, names):
		m.closeCandidate(d, "it is about other targets now")
	case d.Phase == gitops.PhaseApproved && !d.Stopping && !m.isWritten(names):
		d.Granted, m.kept = m.now, true
		m.command(Command{Kind: Grant, Stage: d.Stage, Rollout: d.Number, Delete: true})
	}
}

// deletable are the names of the targets to be deleted that are worth a try.
func (m *machine) deletable() (names []string) {
	for _, l := range m.Leaving {
		if !l.Unreachable && !l.Failed {
			names = append(names, l.Target.Name)
		}
	}
	return names
}

func (m *machine) leaving(name string) *Leaving {
	for i := range m.Leaving {
		if m.Leaving[i].Target.Name == name {
			return &m.Leaving[i]
		}
	}
	return nil
}

// isWritten says whether a rollout of a stage still writes to one of the targets.
func (m *machine) isWritten(names []string) bool {
	return slices.ContainsFunc(m.Stages, func(st StageState) bool {
		return st.Running != nil && slices.ContainsFunc(names, func(name string) bool { return slices.Contains(st.Running.Targets, name) })
	})
}

// isDeleting says whether one of the targets is being deleted right now.
func (m *machine) isDeleting(names []string) bool {
	d := m.Deletion
	return d != nil && !d.Granted.IsZero() && slices.ContainsFunc(names, func(name string) bool { return slices.Contains(d.Targets, name) })
}

func (m *machine) startDeletion(names []string) {
	gates := []gitops.Gate{{Name: deleteGate, Kind: gitops.GateDelete}}
	m.Deletion = &Rollout{
		Number: m.NextRollout, Stage: gitops.DeletionStage, Phase: gitops.PhasePlanning, Delete: true,
		Targets: names, Gates: gates, Started: m.now, Total: len(names),
	}
	m.NextRollout++
	m.kept = true
	m.command(Command{Kind: StartRollout, Stage: gitops.DeletionStage, Rollout: m.Deletion.Number, Targets: names, Gates: gates, Delete: true})
}

// isDeletion says whether an event is about the deletion that is open.
func (m *machine) isDeletion(e Event) bool {
	return e.Stage == gitops.DeletionStage && m.Deletion != nil && m.Deletion.Number == e.Rollout
}

func (m *machine) deletionReported(e Event) {
	d := m.Deletion
	if e.Seq != 0 && e.Seq <= d.Report {
		return
	}
	d.Report, d.Message = max(d.Report, e.Seq), e.Message
	d.PlanDigest = cmp.Or(e.PlanDigest, d.PlanDigest)
	if len(e.Targets) > 0 {
		count(d, e.Targets)
	}
	if e.Phase.Final() {
		m.deletionEnded(e)
		return
	}
	if slices.Contains([]gitops.Phase{gitops.PhaseWaiting, gitops.PhaseApproved}, e.Phase) && e.Seq != 0 {
		d.Granted = time.Time{} // it would not ask for what it has: the approval was for another plan
	}
	m.kept = m.kept || d.Phase != e.Phase
	d.Phase = e.Phase
}

func (m *machine) deletionGone(e Event) {
	if !e.Phase.Final() {
		e.Phase, e.Targets = gitops.PhaseAborted, nil
		e.Message = cmp.Or(e.Message, fmt.Sprintf("rollout %d was ended from outside", m.Deletion.Number))
	}
	m.Deletion.Message = e.Message
	m.deletionEnded(e)
}

// deletionEnded draws the consequences for each target: what is deleted is forgotten,
// and so is what somebody wants to keep; what was not reached, or has failed, is
// remembered.
func (m *machine) deletionEnded(e Event) {
	d := *m.Deletion
	m.Deletion = nil
	m.remember(d, e.Phase)
	left := m.Leaving[:0]
	for _, l := range m.Leaving {
		if !slices.Contains(d.Targets, l.Target.Name) || m.stillLeaves(&l, d, e) {
			left = append(left, l)
		}
	}
	m.Leaving = left
}

func (m *machine) stillLeaves(l *Leaving, d Rollout, e Event) bool {
	outcome := TargetOutcome{Phase: gitops.TargetStopped}
	if i := slices.IndexFunc(e.Targets, func(o TargetOutcome) bool { return o.Name == l.Target.Name }); i >= 0 {
		outcome = e.Targets[i]
	}
	switch {
	case e.Phase == gitops.PhaseRejected, outcome.Phase == gitops.TargetDeleted:
		return false
	case outcome.Phase == gitops.TargetUnreachable:
		l.Unreachable, l.Message = true, outcome.Message
	case outcome.Phase == gitops.TargetFailed:
		l.Failed, l.Message = true, outcome.Message
	case e.Phase == gitops.PhaseSuperseded, e.Phase == gitops.PhaseClosed:
	default:
		l.Failed, l.Message = true, cmp.Or(outcome.Message, d.Message)
	}
	return true
}

// retryDeletion has the deletion of targets tried again that has failed, and says
// whether there are any.
func (m *machine) retryDeletion(names []string) (found bool) {
	for i := range m.Leaving {
		if l := &m.Leaving[i]; l.Failed && (len(names) == 0 || slices.Contains(names, l.Target.Name)) {
			l.Failed, found = false, true
		}
	}
	return found
}

// abandoned leaves the objects of targets where they are.
func (m *machine) abandoned(e Event) {
	meant := func(l Leaving) bool { return len(e.Names) == 0 || slices.Contains(e.Names, l.Target.Name) }
	m.kept = m.kept || slices.ContainsFunc(m.Leaving, meant)
	m.Leaving = slices.DeleteFunc(m.Leaving, meant)
}

// deletionStatus shows the deletion like a stage.
func (s State) deletionStatus() StageStatus {
	status := StageStatus{Name: gitops.DeletionStage, Retired: true}
	if s.Deletion == nil {
		return status
	}
	shown := s.rolloutStatus(*s.Deletion)
	switch {
	case !s.Deletion.Granted.IsZero():
		status.Running = &shown
	case !s.Deletion.Stopping:
		status.Waiting = []RolloutStatus{shown}
	}
	return status
}

func (s State) leavingStatus(l Leaving) TargetStatus {
	status := TargetStatus{
		Name: l.Target.Name, Stage: gitops.DeletionStage, Region: l.Target.Region, Release: l.Release,
		Sync: gitops.OutOfSync, Health: gitops.HealthUnknown, Unreachable: l.Unreachable, Since: l.Since,
		Message: "it is no longer declared and is to be deleted",
	}
	if release, ok := s.Release(l.Release); ok {
		status.Revision = release.Revision()
	}
	switch {
	case l.Failed:
		status.Message = "it could not be deleted: " + l.Message + "; `tidegate sync` tries again, `tidegate abandon` leaves its objects where they are"
	case l.Unreachable:
		status.Message += " as soon as its region answers; `tidegate abandon` leaves its objects where they are (" + l.Message + ")"
	}
	return status
}
