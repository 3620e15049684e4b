package flows_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/telemetry"
	"github.com/tidegate/tidegate/internal/temporalclient"
	"github.com/tidegate/tidegate/starter/flows"
	"github.com/tidegate/tidegate/workflows"
)

// dial connects to a real Temporal that ends with the test.
func dial(t *testing.T) client.Client {
	binary, err := exec.LookPath("temporal")
	if err != nil {
		binary, err = exec.LookPath(filepath.Join("..", "..", ".local", "bin", "temporal"))
	}
	if err != nil {
		t.Skip("there is no temporal command on PATH or in .local/bin")
	}
	server, err := testsuite.StartDevServer(t.Context(), testsuite.DevServerOptions{ExistingPath: binary, LogLevel: "error"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	c, err := temporalclient.Dial(t.Context(), temporalclient.Options{Address: server.FrontendHostPort(), Logger: telemetry.TemporalLogger(zap.NewNop()), Wait: true})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	want := map[string]enumspb.IndexedValueType{}
	for _, name := range []string{workflows.AttrRepository.GetName(), workflows.AttrDelivery.GetName()} {
		want[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}
	require.NoError(t, temporalclient.EnsureSearchAttributes(t.Context(), c, "default", want))
	return c
}

// gate is a workflow that takes one decision and ends.
func gate(ctx workflow.Context) error {
	taken := 0
	if err := workflow.SetQueryHandler(ctx, "status", func() (int, error) { return taken, nil }); err != nil {
		return err
	}
	take := func(workflow.Context, string) (string, error) { taken++; return "taken", nil }
	refuse := func(by string) error {
		if by == "" {
			return errors.New("say who decides")
		}
		return nil
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, "approve", take, workflow.UpdateHandlerOptions{Validator: refuse}); err != nil {
		return err
	}
	workflow.GetSignalChannel(ctx, "close").Receive(ctx, nil)
	return nil
}

// counting counts the queries that reach Temporal.
type counting struct {
	client.Client
	queries int
}

func (c *counting) QueryWorkflow(ctx context.Context, id, run, query string, args ...any) (converter.EncodedValue, error) {
	c.queries++
	return c.Client.QueryWorkflow(ctx, id, run, query, args...)
}

func TestWithARealTemporal(t *testing.T) {
	temporal := dial(t)
	asked := &counting{Client: temporal}
	c := flows.Client{Temporal: asked, Answers: flows.NewAnswers(10)}
	require.NoError(t, c.Ready(t.Context()))

	t.Run("a hint waits for a worker, and each joins the one workflow", func(t *testing.T) {
		ref := gitops.Ref{Repository: "github.com/acme/shop", Revision: "main"}
		for _, from := range []string{"github 1", "github 2"} {
			id, err := c.Hint(t.Context(), ref, workflows.Hint{Commit: "c", From: from})
			require.NoError(t, err)
			require.Equal(t, "push/github.com/acme/shop/main", id)
		}
		description, err := temporal.DescribeWorkflow(t.Context(), workflows.PushID(ref), "")
		require.NoError(t, err)
		require.Equal(t, workflows.PushType, description.RawResponse.GetWorkflowExecutionInfo().GetType().GetName())
		require.Equal(t, workflows.TaskQueue, description.RawResponse.GetWorkflowExecutionInfo().GetTaskQueue())
		require.Contains(t, description.RawResponse.GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields(), workflows.AttrRepository.GetName())
		signals := 0
		for history := temporal.GetWorkflowHistory(t.Context(), workflows.PushID(ref), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); history.HasNext(); {
			event, err := history.Next()
			require.NoError(t, err)
			if event.GetWorkflowExecutionSignaledEventAttributes().GetSignalName() == workflows.SignalHint {
				signals++
			}
		}
		require.Equal(t, 2, signals)
	})

	t.Run("what must always run is started once, and again when it was terminated", func(t *testing.T) {
		run := func() string {
			// Nobody answers for the Catalog here, which is looked at after it was started.
			require.ErrorIs(t, (&flows.Keeper{Client: c}).Ensure(t.Context()), flows.ErrUnavailable)
			description, err := temporal.DescribeWorkflow(t.Context(), workflows.PollID, "")
			require.NoError(t, err)
			return description.RawResponse.GetWorkflowExecutionInfo().GetExecution().GetRunId()
		}
		first := run()
		require.Equal(t, first, run())
		require.NoError(t, temporal.TerminateWorkflow(t.Context(), workflows.PollID, "", "by a test"))
		require.NotEqual(t, first, run())
	})

	t.Run("without a worker there is no answer", func(t *testing.T) {
		var status int
		require.ErrorIs(t, c.Query(t.Context(), workflows.PollID, "status", &status), flows.ErrUnavailable)
	})

	w := worker.New(temporal, "gates", worker.Options{})
	w.RegisterWorkflow(gate)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	run, err := temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "gate", TaskQueue: "gates"}, gate)
	require.NoError(t, err)

	t.Run("an update is carried out once per key", func(t *testing.T) {
		for range 2 {
			var result string
			require.NoError(t, c.Update(t.Context(), flows.Order{Workflow: "gate", Name: "approve", Key: "k", Arg: "anna"}, &result))
			require.Equal(t, "taken", result)
		}
		var taken int
		require.NoError(t, c.Query(t.Context(), "gate", "status", &taken))
		require.Equal(t, 1, taken)
	})

	t.Run("a workflow is asked again only once its history has grown", func(t *testing.T) {
		asked.queries = 0
		for range 5 {
			var taken int
			require.NoError(t, c.Query(t.Context(), "gate", "status", &taken))
			require.Equal(t, 1, taken)
		}
		require.LessOrEqual(t, asked.queries, 1)
		require.NoError(t, c.Update(t.Context(), flows.Order{Workflow: "gate", Name: "approve", Key: "again", Arg: "anna"}, nil))
		var taken int
		require.NoError(t, c.Query(t.Context(), "gate", "status", &taken))
		require.Equal(t, 2, taken)
	})

	t.Run("a workflow that has only just begun is asked until it answers", func(t *testing.T) {
		late := func(ctx workflow.Context) error {
			if err := workflow.Sleep(ctx, time.Second); err != nil {
				return err
			}
			return workflow.SetQueryHandler(ctx, "status", func() (int, error) { return 7, nil })
		}
		w.RegisterWorkflowWithOptions(late, workflow.RegisterOptions{Name: "late"})
		_, err := temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "late", TaskQueue: "gates"}, "late")
		require.NoError(t, err)
		var taken int
		require.NoError(t, c.Query(t.Context(), "late", "status", &taken))
		require.Equal(t, 7, taken)
	})

	t.Run("a refusal has its reason, and the same key may be tried again", func(t *testing.T) {
		var result string
		err := c.Update(t.Context(), flows.Order{Workflow: "gate", Name: "approve", Key: "k2", Arg: ""}, &result)
		require.Equal(t, flows.Refused{Reason: "say who decides"}, err)
		require.NoError(t, c.Update(t.Context(), flows.Order{Workflow: "gate", Name: "approve", Key: "k2", Arg: "anna"}, &result))
	})

	t.Run("a workflow that has ended answers queries and nothing else", func(t *testing.T) {
		require.NoError(t, c.Signal(t.Context(), "gate", "close", nil))
		require.NoError(t, run.Get(t.Context(), nil))
		var taken int
		require.NoError(t, c.Query(t.Context(), "gate", "status", &taken))
		require.ErrorIs(t, c.Update(t.Context(), flows.Order{Workflow: "gate", Name: "approve", Key: "k3", Arg: "anna"}, nil), flows.ErrUnknown)
		require.ErrorIs(t, c.Signal(t.Context(), "gate", "close", nil), flows.ErrUnknown)
	})

	t.Run("a declared Delivery that does not run is started at the second look", func(t *testing.T) {
		declared := func(ctx workflow.Context, _ workflows.CatalogInput) error {
			err := workflow.SetQueryHandler(ctx, workflows.QueryStatus, func() (workflows.CatalogStatus, error) {
				return workflows.CatalogStatus{Deliveries: map[string]string{"default/shop": "digest"}}, nil
			})
			if err == nil {
				workflow.GetSignalChannel(ctx, "close").Receive(ctx, nil)
			}
			return err
		}
		catalogs := worker.New(temporal, workflows.TaskQueue, worker.Options{})
		catalogs.RegisterWorkflowWithOptions(declared, workflow.RegisterOptions{Name: workflows.CatalogType})
		require.NoError(t, catalogs.Start())
		t.Cleanup(catalogs.Stop)
		runs := func() bool {
			_, err := temporal.DescribeWorkflow(t.Context(), workflows.DeliveryID("default/shop"), "")
			return err == nil
		}
		keeper := &flows.Keeper{Client: c}
		require.Eventually(t, func() bool { return keeper.Ensure(t.Context()) == nil }, 10*time.Second, 10*time.Millisecond)
		require.False(t, runs())
		require.NoError(t, keeper.Ensure(t.Context()))
		require.True(t, runs())
	})

	t.Run("a workflow that never was is unknown", func(t *testing.T) {
		var taken int
		require.ErrorIs(t, c.Query(t.Context(), "none", "status", &taken), flows.ErrUnknown)
		require.ErrorIs(t, c.Update(t.Context(), flows.Order{Workflow: "none", Name: "approve", Key: "k", Arg: "anna"}, nil), flows.ErrUnknown)
	})
}

func TestATemporalThatIsGoneIsUnavailableInTime(t *testing.T) {
	temporal, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1", Logger: telemetry.TemporalLogger(zap.NewNop())})
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	began := time.Now()
	_, err = flows.Client{Temporal: temporal}.Hint(t.Context(), gitops.Ref{Repository: "a", Revision: "b"}, workflows.Hint{})
	require.ErrorIs(t, err, flows.ErrUnavailable)
	require.Less(t, time.Since(began), 10*time.Second, "a Git host waits no longer")
}
