package stack_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/deploy/local/stack"
	"github.com/tidegate/tidegate/deploy/local/stack/stacktest"
)

func TestTemporal(t *testing.T) {
	s := stacktest.Start(t, stack.Options{Temporal: true, UI: true})
	c, err := client.DialContext(t.Context(), client.Options{HostPort: s.Temporal.Address})
	require.NoError(t, err)
	defer c.Close()

	t.Run("it knows Tidegate's search attributes", func(t *testing.T) {
		known, err := c.OperatorService().ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{Namespace: "default"})
		require.NoError(t, err)
		require.Equal(t, map[string]enums.IndexedValueType{
			"TidegateProject":    enums.INDEXED_VALUE_TYPE_KEYWORD,
			"TidegateDelivery":   enums.INDEXED_VALUE_TYPE_KEYWORD,
			"TidegateStage":      enums.INDEXED_VALUE_TYPE_KEYWORD,
			"TidegatePhase":      enums.INDEXED_VALUE_TYPE_KEYWORD,
			"TidegateRelease":    enums.INDEXED_VALUE_TYPE_INT,
			"TidegateRevision":   enums.INDEXED_VALUE_TYPE_KEYWORD,
			"TidegateRepository": enums.INDEXED_VALUE_TYPE_KEYWORD,
			"TidegateTargets":    enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
		}, known.CustomAttributes)
	})
	t.Run("it has a Web UI", func(t *testing.T) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Temporal.UI, nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode)
	})
	t.Run("the steps of a workflow do not wait for ticks", func(t *testing.T) {
		w := worker.New(c, "fast", worker.Options{})
		w.RegisterWorkflowWithOptions(tenSteps, workflow.RegisterOptions{Name: "TenSteps"})
		w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: "Step"})
		require.NoError(t, w.Start())
		defer w.Stop()
		fastest := time.Hour // other work on the machine makes any single run slow
		for range 5 {
			began := time.Now()
			run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: "fast"}, "TenSteps")
			require.NoError(t, err)
			require.NoError(t, run.Get(t.Context(), nil))
			fastest = min(fastest, time.Since(began))
		}
		require.Less(t, fastest, 800*time.Millisecond, "by default it takes more than a second on any machine")
	})
	t.Run("killed, it comes back with its workflows, found by their search attributes", func(t *testing.T) {
		_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			ID: "delivery/shop/web", TaskQueue: "nobody",
			TypedSearchAttributes: temporal.NewSearchAttributes(
				temporal.NewSearchAttributeKeyString("TidegateProject").ValueSet("shop"),
				temporal.NewSearchAttributeKeyKeywordList("TidegateTargets").ValueSet([]string{"web-eu-1", "web-us-1"}),
			),
		}, "Delivery")
		require.NoError(t, err)
		before := s.Temporal.PID()
		require.NoError(t, s.Temporal.Kill())
		require.Error(t, s.Temporal.Ready(t.Context()))
		require.NoError(t, s.Temporal.Restart(t.Context()))
		require.NotEqual(t, before, s.Temporal.PID())

		described, err := c.DescribeWorkflow(t.Context(), "delivery/shop/web", "")
		require.NoError(t, err)
		require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_RUNNING, described.Status)
		count, err := c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Query: "TidegateTargets = 'web-us-1'"})
		require.NoError(t, err)
		require.EqualValues(t, 1, count.Count)
	})
	t.Run("frozen, it answers nobody, and then goes on", func(t *testing.T) {
		require.NoError(t, s.Temporal.Freeze())
		require.Error(t, s.Temporal.Ready(expiring(t, time.Second)))
		require.NoError(t, s.Temporal.Thaw())
		require.NoError(t, s.Temporal.Ready(t.Context()))
	})
}

// tenSteps runs ten activities, one after another.
func tenSteps(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, DisableEagerExecution: true})
	for range 10 {
		if err := workflow.ExecuteActivity(ctx, "Step").Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}
