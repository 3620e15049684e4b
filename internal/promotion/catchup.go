package promotion

import (
	"slices"

	"github.com/tidegate/tidegate/internal/gitops"
)

// probe has every region with an unreachable target asked until it answers, once
// at a time.
func (m *machine) probe() {
	for _, t := range m.Targets {
		if t.Unreachable {
			m.probeRegion(t.Region)
		}
	}
	for _, l := range m.Leaving {
		if l.Unreachable {
			m.probeRegion(l.Target.Region)
		}
	}
}

func (m *machine) probeRegion(region string) {
	if slices.Contains(m.Probing, region) {
		return
	}
	m.Probing = append(m.Probing, region)
	slices.Sort(m.Probing)
	m.command(Command{Kind: Probe, Region: region})
}

// recovered notes that a region answers again: its targets must catch up, unless
// a rollout that covers them is faster.
func (m *machine) recovered(region string) {
	m.Probing = slices.DeleteFunc(m.Probing, func(r string) bool { return r == region })
	for i := range m.Targets {
		if t := &m.Targets[i]; t.Region == region && t.Unreachable {
			t.Unreachable, t.Behind = false, true
			t.Since = m.now
		}
	}
	for i := range m.Leaving {
		if l := &m.Leaving[i]; l.Target.Region == region {
			l.Unreachable = false
		}
	}
}

// catchUp brings the targets that were unreachable to what the rest of the stage
// runs: the release that was started last, or the healthy one before when that
// has failed. A target on which the failed release was begun stays as it is: a
// half-applied release is never silently undone.
func (m *machine) catchUp(i int) {
	st := &m.Stages[i]
	release := st.LastStarted
	if st.Failed == release {
		release = st.Current
	}
	made := m.targetsFor(i, release)
	var behind []string
	for j := range m.Targets {
		t := &m.Targets[j]
		if t.Stage != st.Name || !t.Behind {
			continue
		}
		if !m.mayFollow(t.Release, release) || !slices.Contains(made, t.Name) {
			t.Behind = false
			if t.Phase == gitops.TargetUnreachable {
				t.Phase = "" // how far the release got there was not seen
			}
			continue
		}
		behind = append(behind, t.Name)
	}
	if len(behind) == 0 || m.taken(i, behind) {
		return
	}
	r, ok := m.newRollout(i, Rollout{Release: release, Targets: behind, CatchUp: true})
	for _, name := range behind {
		m.target(name).Behind = false
	}
	if ok {
		m.start(i, r)
	}
}
