package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/workflows"
)

// twoStages go one after the other by themselves.
var twoStages = []stage{{name: "dev", regions: []string{"dev-1"}}, {name: "later", regions: []string{"staging-1", "staging-2"}}}

func TestPushesInAnyOrder(t *testing.T) {
	w := newWorld(t, options{stages: twoStages})

	w.step("a force-push back to an older commit is delivered", func(t *testing.T) {
		a := w.push(web("example.com/web:a"))
		w.untilDelivered(a)
		w.untilDelivered(w.push(web("example.com/web:b")))
		w.repo.ForcePush("main", a)
		w.announce(a)
		w.untilSettled(a)
		w.requireImage("example.com/web:a")
	})

	w.step("there and back before anything was rendered ends where Git is", func(t *testing.T) {
		w.repo.Reset(w.state().Heads[0].Commit)
		a := w.repo.Head()
		b := w.push(web("example.com/web:c"))
		w.repo.ForcePush("main", a)
		w.announce(a)
		require.NotEqual(t, a, b)
		w.untilSettled(a)
		w.requireImage("example.com/web:a")
	})

	w.step("of ten pushes at once the last one wins, and nothing overtakes", func(t *testing.T) {
		before, since := w.state().NextRollout, w.now()
		w.repo.Reset(w.state().Heads[0].Commit)
		var last string
		for i := range 10 {
			last = w.push(files{"app/web.yaml": workload{name: "web", image: fmt.Sprintf("example.com/web:%d", i), takes: time.Second}.String()})
		}
		w.untilSettled(last)
		w.requireImage("example.com/web:9")
		state := w.state()
		for _, st := range state.Stages {
			require.Equal(t, state.Newest(), st.Current)
			w.requireOneAtATime(state, st.Name)
		}
		for _, region := range w.targets() {
			numbers := w.writers(region, since)
			require.True(t, slices.IsSorted(numbers), "region %s: a rollout wrote after a later one: %v", region, numbers)
		}
		t.Logf("ten pushes became %d rollouts into two stages", state.NextRollout-before)
	})
}

// untilSettled waits until a commit is the head that the Delivery knows of, it
// is delivered everywhere, and nothing is under way.
func (w *world) untilSettled(commit string) {
	w.t.Helper()
	w.untilState(commit+" is the end of it", func(s promotion.State) bool {
		status := s.Status()
		return len(s.Heads) == 1 && s.Heads[0].Commit == commit && !status.Rendering && len(s.OpenRollouts()) == 0 &&
			status.Sync == gitops.Synced && status.Health == gitops.Healthy && status.Targets[0].Release == s.Newest()
	})
}

// requireImage looks into every region of the world.
func (w *world) requireImage(image string) {
	w.t.Helper()
	for _, region := range w.targets() {
		require.Equal(w.t, image, w.image(region, "web"), "region %s", region)
	}
}

// requireOneAtATime checks the rollouts that a stage has had: each held the
// stage alone, and none is of a release older than one before it.
func (w *world) requireOneAtATime(state promotion.State, stage string) {
	w.t.Helper()
	var held []promotion.Rollout
	for _, r := range state.Rollouts {
		if r.Stage == stage && !r.Granted.IsZero() {
			held = append(held, r)
		}
	}
	require.NotEmpty(w.t, held)
	slices.SortFunc(held, func(a, b promotion.Rollout) int { return a.Granted.Compare(b.Granted) })
	for i := 1; i < len(held); i++ {
		require.False(w.t, held[i].Granted.Before(held[i-1].Finished), "rollouts %d and %d held the stage at once", held[i-1].Number, held[i].Number)
		require.GreaterOrEqual(w.t, held[i].Release, held[i-1].Release, "rollout %d is of an older release", held[i].Number)
	}
}

func TestABadImageDoesNotBlockItsFix(t *testing.T) {
	w := newWorld(t, options{stages: twoStages})
	w.untilDelivered(w.push(web("example.com/web:1")))
	bad := w.push(files{"app/web.yaml": workload{name: "web", image: "example.com/web:2", fail: "no such image"}.String()})
	stuck := w.untilRunning("dev", bad, "waits for pods that never get ready", func(r workflows.RolloutStatus) bool {
		return r.Targets[0].Phase == gitops.TargetWaiting
	})
	w.until("the command says which object is waited for", func(context.Context) (bool, any) {
		said, err := w.tidegate("rollout", "get", fmt.Sprintf("%s/dev/%d", w.delivery(), stuck.Number))
		return err == nil && strings.Contains(said, " done after "), said
	})
	fix := w.push(web("example.com/web:3"))
	w.untilDelivered(fix)
	w.requireImage("example.com/web:3")
	require.Equal(t, gitops.PhaseSuperseded, w.untilEnded(stuck.Number).Phase)
	for _, r := range w.state().Rollouts {
		require.False(t, r.Stage == "later" && r.Release == stuck.Release, "the bad release went on to the next stage")
	}
}

func TestMergesThatAreFasterThanRollouts(t *testing.T) {
	w := newWorld(t, options{stages: []stage{
		{name: "dev", regions: []string{"dev-1"}},
		{name: "production", regions: []string{"staging-1"}, approval: true},
	}})
	merge := func(i int, takes time.Duration) string {
		return w.push(files{"app/web.yaml": workload{name: "web", image: fmt.Sprintf("example.com/web:%d", i), takes: takes}.String()})
	}

	w.step("do not keep rollouts from finishing", func(t *testing.T) {
		for i := range 40 {
			commit := merge(i, 3*time.Second)
			var finished bool
			w.untilState("the merge has become a release", func(s promotion.State) bool {
				if s.Status().Newest == nil || s.Status().Newest.Revision != commit {
					return false
				}
				dev := s.Stages[0]
				finished = dev.Current > 0 && dev.Current < s.Newest()
				return true
			})
			if finished {
				t.Logf("a rollout finished while %d merges came in", i+1)
				return
			}
		}
		t.Fatal("forty merges came in and no rollout finished meanwhile")
	})

	w.step("do not take away what waits at the gate", func(t *testing.T) {
		chosen := merge(100, 0)
		waiting := w.untilCandidate(chosen)
		var last string
		for i := range 3 {
			last = merge(101+i, 0)
			w.untilCandidate(last)
		}
		w.approveBySignal(waiting, waiting.PlanDigest)
		w.untilState("production has what was chosen", func(s promotion.State) bool {
			return s.Stages[1].Running == nil && s.Stages[1].Current == waiting.Release
		})
		require.Equal(t, "example.com/web:100", w.image("staging-1", "web"))
		require.Equal(t, gitops.PhaseHealthy, w.untilEnded(waiting.Number).Phase)
		w.untilCandidate(last)
	})
}

// approveBySignal approves a plan at a rollout's only gate, as one does in
// Temporal's Web UI.
func (w *world) approveBySignal(r workflows.RolloutStatus, plan string) {
	w.t.Helper()
	decision := workflows.Decision{Gate: r.Gates[0].Name, PlanDigest: plan, By: "a release manager"}
	w.until("Temporal takes the signal", func(ctx context.Context) (bool, any) {
		err := w.temporal.SignalWorkflow(ctx, workflows.RolloutID(r.Delivery, r.Stage, r.Number), "", workflows.SignalApprove, decision)
		return err == nil, err
	})
}
