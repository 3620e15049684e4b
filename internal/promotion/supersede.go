package promotion

import (
	"fmt"

	"github.com/tidegate/tidegate/internal/gitops"
)

// supersede asks the running rollout to make way for a newer release, if it must
// yet: at once when it gets nowhere by itself (a target has failed, a gate holds
// it) or only catches up, so that a bad release never blocks the one that mends
// it; otherwise at most twice in a row, so that merges which come faster than
// rollouts never keep one from being finished. One that is healthy and soaks is not
// asked: it holds its stage until that is over, or health is lost.
func (m *machine) supersede(i, release int) {
	st := &m.Stages[i]
	r := st.Running
	if r.Stopping || r.Soaking && r.Phase != gitops.PhaseDegraded {
		return
	}
	if !r.CatchUp && !r.AtGate && r.Phase != gitops.PhaseDegraded {
		if st.Yields >= maxYields {
			return
		}
		st.Yields++
	}
	m.stop(r, release, fmt.Sprintf("release %d is newer", release))
}

func (m *machine) stop(r *Rollout, release int, reason string) {
	r.Stopping = true
	m.kept = true
	m.command(Command{Kind: Supersede, Stage: r.Stage, Rollout: r.Number, Release: release, Reason: reason})
}

// resume lets a release on that was superseded for one that has vanished since:
// it is half applied, and nothing else would finish it.
func (m *machine) resume(i int, r Rollout) {
	st := &m.Stages[i]
	if r.CatchUp {
		for _, name := range r.Targets {
			t := m.target(name)
			if t == nil || t.Unreachable || t.Release > r.Release {
				continue
			}
			t.Behind = t.Release < r.Release || t.Phase != gitops.TargetHealthy && t.Phase != gitops.TargetFailed
		}
		return
	}
	if _, release := m.wanting(i); release == 0 && !st.Retired && r.Release >= m.Floor {
		m.offer(i, Rollout{Release: r.Release})
	}
}
