package promotion

import (
	"slices"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Preview is what a sync of one stage would deliver.
type Preview struct {
	Stage   string
	Release gitops.Release
	Targets []gitops.Target
}

// Previews are what a sync would deliver to the named targets, to all when there are no
// names: the newest release that a stage may have, or, with a scope, the one that was
// started there last.
func (s State) Previews(names []string, scope *gitops.SyncScope) (previews []Preview) {
	m := machine{State: s.clone()}
	for i, st := range m.Stages {
		number := m.wanted(i)
		if scope != nil && !scope.IsZero() {
			number = st.LastStarted
		}
		release, _ := m.Release(number)
		p := Preview{Stage: st.Name, Release: release}
		for _, name := range m.targetsFor(i, number) {
			if t, ok := m.Spec.Target(name); ok && (len(names) == 0 || slices.Contains(names, name)) {
				p.Targets = append(p.Targets, t)
			}
		}
		if len(p.Targets) > 0 {
			previews = append(previews, p)
		}
	}
	return previews
}
