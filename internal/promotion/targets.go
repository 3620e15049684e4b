package promotion

import (
	"slices"

	"github.com/tidegate/tidegate/internal/gitops"
)

// note takes over what a report says of the rollout as a whole and of each of
// its targets.
func (m *machine) note(r *Rollout, e Event, running bool) {
	r.Message = e.Message
	if e.PlanDigest != "" {
		r.PlanDigest = e.PlanDigest
	}
	outcomes := e.Targets
	if running && e.Phase == gitops.PhaseHealthy {
		outcomes = completed(r, outcomes)
	}
	if len(outcomes) > 0 {
		count(r, outcomes)
	}
	if r.Release < m.Floor || r.isPartial() {
		return // it is about a place that a target has left, or says little of it
	}
	for _, o := range outcomes {
		if t := m.target(o.Name); t != nil && slices.Contains(r.Targets, o.Name) {
			m.noteTarget(t, r, o, running)
		}
	}
	if running && e.Phase == gitops.PhaseAborted {
		m.doubt(r, outcomes)
	}
}

// completed adds the targets that a healthy rollout does not name.
func completed(r *Rollout, outcomes []TargetOutcome) []TargetOutcome {
	all := slices.Clone(outcomes)
	for _, name := range r.Targets {
		named := slices.ContainsFunc(outcomes, func(o TargetOutcome) bool { return o.Name == name })
		if !named && !slices.Contains(r.Lost, name) {
			all = append(all, TargetOutcome{Name: name, Phase: gitops.TargetHealthy})
		}
	}
	return all
}

func count(r *Rollout, outcomes []TargetOutcome) {
	r.Healthy, r.Broken, r.Unreachable = 0, 0, 0
	for _, o := range outcomes {
		switch o.Phase {
		case gitops.TargetHealthy, gitops.TargetDeleted:
			r.Healthy++
		case gitops.TargetFailed:
			r.Broken++
		case gitops.TargetUnreachable:
			r.Unreachable++
		}
	}
}

// noteTarget takes over what a rollout met at one target. That a region does not
// answer is news even from a candidate's plan, but only once from one rollout:
// the region may have recovered since it said so first. Everything else counts
// only from the rollout that holds the lock.
func (m *machine) noteTarget(t *TargetState, r *Rollout, o TargetOutcome, running bool) {
	if running && o.Begun {
		t.Release = r.Release
	}
	if o.Phase == gitops.TargetUnreachable {
		if !slices.Contains(r.Lost, t.Name) {
			r.Lost = append(r.Lost, t.Name)
			t.Unreachable, t.Behind, t.Phase, t.Message = true, false, o.Phase, o.Message
		}
		return
	}
	if !running {
		return
	}
	switch o.Phase {
	case gitops.TargetPending, gitops.TargetPlanned:
		return
	case gitops.TargetStopped:
		if t.Release == r.Release && t.Phase != gitops.TargetUnreachable {
			t.Phase, t.Message = o.Phase, o.Message
		}
		return
	}
	t.Release, t.Phase, t.Message, t.Kept, t.Unreachable, t.Behind = r.Release, o.Phase, o.Message, o.Kept, false, false
	m.setHealth(t, healthOf(o))
}

func healthOf(o TargetOutcome) gitops.HealthStatus {
	switch {
	case o.Health != "":
		return o.Health
	case o.Phase == gitops.TargetHealthy, o.Phase == gitops.TargetSoaking:
		return gitops.Healthy
	case o.Phase == gitops.TargetFailed:
		return gitops.Degraded
	default:
		return gitops.Progressing
	}
}

// doubt marks the targets of which an aborted rollout did not say how it left
// them: it may have begun on any of them, also on one that did not answer before.
func (m *machine) doubt(r *Rollout, said []TargetOutcome) {
	for _, name := range r.Targets {
		t := m.target(name)
		if t == nil || slices.ContainsFunc(said, func(o TargetOutcome) bool { return o.Name == name }) {
			continue
		}
		if t.Unreachable {
			t.Release = max(t.Release, r.Release)
			continue
		}
		if t.Release == r.Release && (t.Phase == gitops.TargetHealthy || t.Phase == gitops.TargetFailed) {
			continue
		}
		t.Release, t.Phase, t.Message = r.Release, "", r.Message
		m.setHealth(t, gitops.HealthUnknown)
	}
}

// refreshTargets works out each target's sync status.
func (m *machine) refreshTargets() {
	for i := range m.Targets {
		t := &m.Targets[i]
		if t.Unreachable {
			m.setHealth(t, gitops.HealthUnknown)
		}
		if sync := m.syncOf(*t); sync != t.Sync {
			t.Sync, t.Since = sync, m.now
		}
	}
}

func (m *machine) syncOf(t TargetState) gitops.SyncStatus {
	i := m.stage(t.Stage)
	switch {
	case t.Unreachable, t.Behind, i < 0, t.Release != 0 && t.Phase == "":
		return gitops.SyncUnknown
	case t.Release == 0 && m.Stages[i].Offered == 0:
		return gitops.SyncUnknown
	case t.Phase != gitops.TargetHealthy && t.Phase != gitops.TargetSoaking, t.Kept > 0:
		return gitops.OutOfSync
	}
	offered, _ := m.Release(m.wanted(i))
	here, _ := m.Release(t.Release)
	want, wanted := offered.Bundle(t.Name)
	has, known := here.Bundle(t.Name)
	if wanted && known && want.Digest != has.Digest {
		return gitops.OutOfSync
	}
	return gitops.Synced
}

func (m *machine) setHealth(t *TargetState, health gitops.HealthStatus) {
	if t.Health != health {
		t.Health, t.Since = health, m.now
	}
}
