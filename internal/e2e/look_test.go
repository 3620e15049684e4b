package e2e_test

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/workflows"
)

// ask queries a workflow.
func (w *world) ask(ctx context.Context, id, query string, result any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	value, err := w.temporal.QueryWorkflow(ctx, id, "", query)
	if err != nil {
		return err
	}
	return value.Get(result)
}

// state returns everything that the Delivery knows.
func (w *world) state() promotion.State {
	w.t.Helper()
	var state promotion.State
	w.untilState("it answers", func(s promotion.State) bool { state = s; return true })
	return state
}

// untilState waits until the Delivery's state is as wanted.
func (w *world) untilState(what string, wanted func(promotion.State) bool) {
	w.t.Helper()
	w.until("the Delivery is so that "+what, func(ctx context.Context) (bool, any) {
		var state promotion.State
		if err := w.ask(ctx, workflows.DeliveryID(w.delivery()), workflows.QueryState, &state); err != nil {
			return false, err
		}
		return wanted(state), state.Status()
	})
}

// untilDelivered waits until a commit is healthy on every target of the stages
// named, all of them when none is, and nothing is under way there.
func (w *world) untilDelivered(commit string, stages ...string) {
	w.t.Helper()
	w.untilState(commit+" is delivered", func(s promotion.State) bool { return isDelivered(s.Status(), commit, stages) })
}

func isDelivered(status promotion.Status, commit string, stages []string) bool {
	in := map[string]bool{}
	for _, name := range stages {
		in[name] = true
	}
	for _, st := range status.Stages {
		if (len(in) == 0 || in[st.Name]) && st.Running != nil {
			return false
		}
	}
	for _, t := range status.Targets {
		if len(in) > 0 && !in[t.Stage] {
			continue
		}
		if t.Revision != commit || t.Sync != gitops.Synced || t.Health != gitops.Healthy {
			return false
		}
	}
	return len(status.Targets) > 0
}

// rollout returns the state of a rollout's workflow.
func (w *world) rollout(stage string, number int) workflows.RolloutStatus {
	w.t.Helper()
	var status workflows.RolloutStatus
	w.until("the rollout answers", func(ctx context.Context) (bool, any) {
		err := w.ask(ctx, workflows.RolloutID(w.delivery(), stage, number), workflows.QueryStatus, &status)
		return err == nil, err
	})
	return status
}

// untilRunning waits until a rollout of a commit into a stage is as wanted, and
// returns it.
func (w *world) untilRunning(stage, commit, what string, wanted func(workflows.RolloutStatus) bool) workflows.RolloutStatus {
	w.t.Helper()
	var found workflows.RolloutStatus
	w.until("the rollout into "+stage+" "+what, func(ctx context.Context) (bool, any) {
		var state promotion.State
		if err := w.ask(ctx, workflows.DeliveryID(w.delivery()), workflows.QueryState, &state); err != nil {
			return false, err
		}
		for _, r := range state.OpenRollouts() {
			if release, _ := state.Release(r.Release); r.Stage != stage || release.Revision() != commit {
				continue
			}
			if err := w.ask(ctx, workflows.RolloutID(w.delivery(), stage, r.Number), workflows.QueryStatus, &found); err != nil {
				return false, err
			}
			return wanted(found), found
		}
		return false, state.Status()
	})
	return found
}

// untilCandidate waits until a commit waits at the gate of production.
func (w *world) untilCandidate(commit string) workflows.RolloutStatus {
	w.t.Helper()
	return w.untilRunning("production", commit, "waits at its gate", func(r workflows.RolloutStatus) bool { return r.Phase == gitops.PhaseWaiting })
}

// ended returns an ended rollout from the Delivery's memory.
func ended(s promotion.State, number int) (promotion.Rollout, bool) {
	for _, r := range s.Rollouts {
		if r.Number == number {
			return r, true
		}
	}
	return promotion.Rollout{}, false
}

// untilEnded waits until a rollout has ended, and returns what the Delivery
// remembers of it.
func (w *world) untilEnded(number int) promotion.Rollout {
	w.t.Helper()
	var found promotion.Rollout
	w.untilState("the rollout has ended", func(s promotion.State) bool {
		r, ok := ended(s, number)
		found = r
		return ok
	})
	require.Equal(w.t, number, found.Number)
	return found
}
