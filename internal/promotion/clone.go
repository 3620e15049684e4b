package promotion

import (
	"cmp"
	"slices"
)

// clone copies everything that a decision writes. What is replaced as a whole
// and never written in place (the specification, bundles, sources, lists of
// names and gates) is shared. The zero State becomes that of a Delivery without
// a specification.
func (s State) clone() State {
	if s.Version == 0 {
		s.Version, s.NextRelease, s.NextRollout = StateVersion, 1, 1
	}
	s.Heads = slices.Clone(s.Heads)
	s.Releases = slices.Clone(s.Releases)
	for i := range s.Releases {
		s.Releases[i].Revisions = slices.Clone(s.Releases[i].Revisions)
	}
	s.Stages = slices.Clone(s.Stages)
	for i := range s.Stages {
		st := &s.Stages[i]
		if st.Running != nil {
			running := st.Running.clone()
			st.Running = &running
		}
		st.Waiting = slices.Clone(st.Waiting)
		for j := range st.Waiting {
			st.Waiting[j] = st.Waiting[j].clone()
		}
	}
	s.Targets = slices.Clone(s.Targets)
	s.Leaving = slices.Clone(s.Leaving)
	if s.Deletion != nil {
		deletion := s.Deletion.clone()
		s.Deletion = &deletion
	}
	s.Quarantined = slices.Clone(s.Quarantined)
	s.Rollouts = slices.Clone(s.Rollouts)
	s.Probing = slices.Clone(s.Probing)
	s.Conditions = slices.Clone(s.Conditions)
	return s
}

func (r Rollout) clone() Rollout {
	r.Lost = slices.Clone(r.Lost)
	return r
}

func sortRollouts(rollouts []Rollout) {
	slices.SortStableFunc(rollouts, func(a, b Rollout) int { return cmp.Compare(a.Number, b.Number) })
}
