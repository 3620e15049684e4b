package promotion

import (
	"fmt"
	"slices"

	"github.com/tidegate/tidegate/internal/gitops"
)

// approveSync opens the sync gate of a candidate, or remembers to as soon as its
// plan is made: an approval names the plan.
func (m *machine) approveSync(r *Rollout, by string) {
	gate := slices.IndexFunc(r.Gates, func(g gitops.Gate) bool { return g.Kind == gitops.GateSync })
	if gate < 0 || r.Phase == gitops.PhaseApproved {
		return
	}
	if r.Phase != gitops.PhaseWaiting {
		r.SyncBy = by
		return
	}
	r.SyncBy = ""
	m.command(Command{Kind: Approve, Stage: r.Stage, Rollout: r.Number, Release: r.Release, Gate: r.Gates[gate].Name, PlanDigest: r.PlanDigest, By: by})
}

// keepApproval opens a candidate again that was approved just as it was being
// closed: an approval is never lost. It names a plan, so it goes on with the new
// candidate exactly if that comes to the same plan.
func (m *machine) keepApproval(i int, r Rollout) {
	st := &m.Stages[i]
	_, wanted := m.wanting(i)
	if st.Retired || r.Release <= max(wanted, st.Current) || r.Release < st.LastStarted || r.PlanDigest == "" || len(m.gates(i)) == 0 {
		return
	}
	if st.Running != nil && st.Running.Release >= r.Release {
		return
	}
	m.wait(i, Rollout{Release: r.Release, Carried: r.PlanDigest})
}

// carry passes an approval on to a candidate as soon as its plan is known.
func (m *machine) carry(r *Rollout) {
	if r.Carried == "" || r.Phase != gitops.PhaseWaiting {
		return
	}
	if r.Carried != r.PlanDigest {
		r.Carried = ""
		return
	}
	for _, g := range r.Gates {
		m.command(Command{
			Kind: Approve, Stage: r.Stage, Rollout: r.Number, Release: r.Release, Gate: g.Name, PlanDigest: r.PlanDigest,
			By: fmt.Sprintf("the approval of release %d for plan %s", r.Release, r.PlanDigest),
		})
	}
}
