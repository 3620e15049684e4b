package e2e_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/workflows"
)

// threeWaves is an application of three waves, each of which takes its time.
func threeWaves(version string) files {
	f := files{}
	for i, name := range []string{"one", "two", "three"} {
		f["app/"+name+".yaml"] = workload{name: name, image: "example.com/" + name + ":" + version, wave: i, takes: 2 * time.Second}.String()
	}
	return f
}

// secondWave says that the last target is in the middle of its waves.
func secondWave(r workflows.RolloutStatus) bool {
	last := r.Targets[len(r.Targets)-1]
	return last.Step == 1 && last.Phase == gitops.TargetWaiting
}

func TestAKilledProcessLosesNothing(t *testing.T) {
	stages := []stage{
		{name: "dev", regions: []string{"dev-1", "staging-1"}},
		{name: "production", regions: []string{"staging-2"}, approval: true},
	}
	w := newWorld(t, options{stages: stages})

	w.step("the worker, in the middle of a wave", func(t *testing.T) {
		before := w.now()
		commit := w.push(threeWaves("1"))
		running := w.untilRunning("dev", commit, "is in its second wave", secondWave)
		w.killWorker()
		w.startWorker()
		w.untilDelivered(commit, "dev")
		require.Equal(t, gitops.PhaseHealthy, w.untilEnded(running.Number).Phase, "the same rollout went on")
		for _, region := range w.targets("dev") {
			w.requireWavesInOrder(region, before)
		}
	})

	w.step("serve, when it has just accepted a webhook", func(t *testing.T) {
		commit := w.push(threeWaves("2"))
		w.killServe()
		w.untilDelivered(commit, "dev")
		w.startServe()
	})

	w.step("Temporal, while a candidate waits at a gate", func(t *testing.T) {
		commit := w.push(threeWaves("3"))
		waiting := w.untilCandidate(commit)
		require.NoError(t, w.Temporal.Kill())
		require.NoError(t, w.Temporal.Restart(t.Context()))
		w.approveBySignal(waiting, waiting.PlanDigest)
		w.untilDelivered(commit)
		require.Equal(t, "example.com/three:3", w.image("staging-2", "three"))
		require.Equal(t, gitops.PhaseHealthy, w.untilEnded(waiting.Number).Phase)
	})

	w.step("Temporal, in the middle of a wave", func(t *testing.T) {
		before := w.now()
		commit := w.push(threeWaves("4"))
		w.untilRunning("dev", commit, "is in its second wave", secondWave)
		require.NoError(t, w.Temporal.Kill())
		require.NoError(t, w.Temporal.Restart(t.Context()))
		w.untilDelivered(commit, "dev")
		for _, region := range w.targets("dev") {
			w.requireWavesInOrder(region, before)
		}
	})
}

// requireWavesInOrder checks that the Deployments of threeWaves were written in
// the order of their waves, none after one of a later wave.
func (w *world) requireWavesInOrder(region string, since moment) {
	w.t.Helper()
	var order []string
	for _, write := range withoutInventory(w.writes(region, since)) {
		for _, name := range []string{"one", "two", "three"} {
			if write == "patch deployments "+w.name+"/"+name || write == "create deployments "+w.name+"/"+name {
				order = append(order, name)
			}
		}
	}
	require.Equal(w.t, []string{"one", "two", "three"}, slices.Compact(order), "region %s", region)
}

func TestADeadRegionCostsOnlyItself(t *testing.T) {
	w := newWorld(t, options{stages: []stage{{name: "all", regions: []string{"dev-1", "staging-1", "staging-2"}}}})
	dead := w.region(t, "staging-1")
	w.untilDelivered(w.push(threeWaves("1")))

	commit := w.push(threeWaves("2"))
	w.untilRunning("all", commit, "is in its second wave", secondWave)
	require.NoError(t, dead.Kill())
	t.Cleanup(func() {
		if !dead.Alive() {
			t.Error("the region was not started again")
		}
	})
	w.untilState("the other regions have it, and the dead one is shown", func(s promotion.State) bool {
		for _, target := range s.Status().Targets {
			if target.Region == dead.Name && (!target.Unreachable || target.Sync != gitops.SyncUnknown) {
				return false
			}
			if target.Region != dead.Name && (target.Revision != commit || target.Health != gitops.Healthy) {
				return false
			}
		}
		return true
	})
	for _, target := range w.state().Status().Targets {
		if target.Region == dead.Name {
			require.Contains(t, target.Message, dead.Name, "the message names the region")
		}
	}

	require.NoError(t, dead.Restart(t.Context()))
	w.untilDelivered(commit)
	require.Equal(t, "example.com/three:2", w.image(dead.Name, "three"))

	require.NoError(t, dead.Kill())
	next := w.push(threeWaves("3"))
	w.untilState("a release goes round the dead region", func(s promotion.State) bool {
		return s.Stages[0].Running == nil && s.Stages[0].Current == s.Newest() && s.Status().Newest.Revision == next
	})
	require.NoError(t, dead.Restart(t.Context()))
	w.untilDelivered(next)
	require.Equal(t, "example.com/three:3", w.image(dead.Name, "three"))
}
