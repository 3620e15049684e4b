package e2e_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/workflows"
)

// gated is a Pipeline whose last stage waits for somebody.
var gated = []stage{
	{name: "dev", regions: []string{"dev-1"}},
	{name: "production", regions: []string{"staging-1", "staging-2"}, approval: true},
}

// tidegate runs the command as a user would, and returns what it prints.
func (w *world) tidegate(args ...string) (string, error) {
	w.t.Helper()
	command := exec.CommandContext(w.t.Context(), filepath.Join(w.bin, "tidegate"), append(args, "--config", w.settingsFile())...)
	out, err := command.CombinedOutput()
	return string(out), err
}

func TestAGate(t *testing.T) {
	w := newWorld(t, options{stages: gated})

	w.step("nothing is written behind it before it is approved", func(t *testing.T) {
		before := w.now()
		waiting := w.untilCandidate(w.push(web("example.com/web:1")))
		for _, region := range w.targets("production") {
			require.Empty(t, w.writes(region, before))
		}
		require.NotEmpty(t, waiting.PlanDigest)
		require.Equal(t, workflows.GateStateWaiting, waiting.Gates[0].State)
	})

	w.step("an approval of another plan is refused, by the command and by a signal", func(t *testing.T) {
		waiting := w.untilCandidate(w.repo.Head())
		out, err := w.tidegate("approve", w.delivery(), "--plan", "another", "--by", "somebody")
		require.Error(t, err)
		require.Contains(t, out, waiting.PlanDigest)
		w.approveBySignal(waiting, "another")
		refused := w.untilRunning("production", w.repo.Head(), "shows the refusal", func(r workflows.RolloutStatus) bool { return len(r.Decisions) == 1 })
		require.False(t, refused.Decisions[0].Accepted)
		require.Contains(t, refused.Decisions[0].Refusal, waiting.PlanDigest)
		require.Equal(t, workflows.GateStateWaiting, refused.Gates[0].State)
	})

	w.step("the command opens it", func(t *testing.T) {
		out, err := w.tidegate("approve", w.delivery(), "--yes", "--by", "a release manager", "--reason", "looks good")
		require.NoError(t, err, out)
		w.untilDelivered(w.repo.Head())
		var list struct {
			Targets []promotion.TargetStatus `json:"targets"`
		}
		out, err = w.tidegate("get", "targets", "--output", "json")
		require.NoError(t, err, out)
		require.NoError(t, json.Unmarshal([]byte(out), &list), out)
		require.Len(t, list.Targets, 3)
		for _, target := range list.Targets {
			require.Equal(t, gitops.Synced, target.Sync)
			require.Equal(t, w.repo.Head(), target.Revision)
		}
	})

	w.step("a signal opens it", func(t *testing.T) {
		commit := w.push(web("example.com/web:2"))
		waiting := w.untilCandidate(commit)
		w.approveBySignal(waiting, waiting.PlanDigest)
		w.untilDelivered(commit)
	})

	w.step("a rejected release stays out, and the next one is offered", func(t *testing.T) {
		waiting := w.untilCandidate(w.push(web("example.com/web:3")))
		out, err := w.tidegate("reject", w.delivery(), "--yes", "--by", "a release manager", "--reason", "not today")
		require.NoError(t, err, out)
		end := w.untilEnded(waiting.Number)
		require.Equal(t, gitops.PhaseRejected, end.Phase)
		require.Contains(t, end.Message, "not today")
		for _, region := range w.targets("production") {
			require.Equal(t, "example.com/web:2", w.image(region, "web"))
		}
		commit := w.push(web("example.com/web:4"))
		w.untilCandidate(commit)
		out, err = w.tidegate("approve", w.delivery(), "--yes", "--by", "a release manager")
		require.NoError(t, err, out)
		w.untilDelivered(commit)
	})
}
