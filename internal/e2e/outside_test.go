package e2e_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	wire "github.com/tidegate/tidegate/starter/api"
	"github.com/tidegate/tidegate/workflows"
)

// What somebody does in Temporal's Web UI must not leave a Delivery stuck.
func TestWorkflowsThatAreEndedFromOutside(t *testing.T) {
	w := newWorld(t, options{stages: []stage{{name: "all", regions: []string{"dev-1", "staging-1"}}}})
	w.untilDelivered(w.push(web("example.com/web:1")))
	stuck := func(image string) workflows.RolloutStatus {
		commit := w.push(files{"app/web.yaml": workload{name: "web", image: image, fail: "never ready"}.String()})
		return w.untilRunning("all", commit, "waits", func(r workflows.RolloutStatus) bool {
			return r.Targets[0].Phase == gitops.TargetWaiting && r.Targets[1].Phase == gitops.TargetWaiting
		})
	}
	id := func(r workflows.RolloutStatus) string { return workflows.RolloutID(r.Delivery, r.Stage, r.Number) }

	w.step("a canceled rollout ends, and a newer push is delivered", func(t *testing.T) {
		r := stuck("example.com/web:2")
		require.NoError(t, w.temporal.CancelWorkflow(t.Context(), id(r), ""))
		end := w.untilEnded(r.Number)
		require.Equal(t, gitops.PhaseAborted, end.Phase)
		require.NotEmpty(t, end.Message)
		w.untilDelivered(w.push(web("example.com/web:3")))
		w.requireImage("example.com/web:3")
	})

	w.step("a terminated rollout is retried by a sync", func(t *testing.T) {
		r := stuck("example.com/web:4")
		require.NoError(t, w.temporal.TerminateWorkflow(t.Context(), id(r), "", "a test"))
		require.Equal(t, gitops.PhaseAborted, w.untilEnded(r.Number).Phase)
		outcome, err := w.api.Sync(t.Context(), w.delivery(), wire.Sync{By: "somebody"})
		require.NoError(t, err)
		require.Contains(t, outcome.Message, "started")
		w.untilState("the release has another rollout", func(s promotion.State) bool {
			return s.Stages[0].Running != nil && s.Stages[0].Running.Release == r.Release && s.Stages[0].Running.Number > r.Number
		})
		w.untilDelivered(w.push(web("example.com/web:5")))
	})

	w.step("a terminated Delivery goes on from its checkpoint", func(t *testing.T) {
		before := w.state()
		require.NoError(t, w.temporal.TerminateWorkflow(t.Context(), workflows.DeliveryID(w.delivery()), "", "a test"))
		commit := w.push(web("example.com/web:6"))
		w.untilDelivered(commit)
		w.requireImage("example.com/web:6")
		state := w.state()
		require.Equal(t, before.NextRelease, state.Newest(), "the numbers go on")
		require.NotEmpty(t, state.Rollouts)
	})

	w.step("a terminated Delivery comes back by itself", func(t *testing.T) {
		before := w.state()
		require.NoError(t, w.temporal.TerminateWorkflow(t.Context(), workflows.DeliveryID(w.delivery()), "", "a test"))
		w.until("the Delivery runs again", func(ctx context.Context) (bool, any) {
			d, err := w.temporal.DescribeWorkflow(ctx, workflows.DeliveryID(w.delivery()), "")
			return err == nil && d.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, err
		})
		require.Equal(t, before.NextRelease, w.state().NextRelease, "nothing is delivered anew")
		require.Equal(t, before.NextRollout, w.state().NextRollout)
	})

	w.step("a Delivery that is terminated while a rollout runs finds it again", func(t *testing.T) {
		r := stuck("example.com/web:7")
		require.NoError(t, w.temporal.TerminateWorkflow(t.Context(), workflows.DeliveryID(w.delivery()), "", "a test"))
		fix := w.push(web("example.com/web:8"))
		w.untilDelivered(fix)
		w.requireImage("example.com/web:8")
		require.Equal(t, gitops.PhaseSuperseded, w.untilEnded(r.Number).Phase)
	})
}
