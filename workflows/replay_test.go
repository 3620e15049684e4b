package workflows_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/workflows"
)

// registered are all workflows, by the names that they are registered under.
var registered = map[string]any{
	workflows.PushType: workflows.Push, workflows.DeliveryType: workflows.Delivery, workflows.RolloutType: workflows.Rollout,
	workflows.CatalogType: workflows.Catalog, workflows.PollType: workflows.Poll, workflows.PreviewType: workflows.Preview,
}

// Work that is under way must survive an upgrade: every recorded history, of
// every workflow in every state that it waits in, is replayed by this code.
func TestRecordedHistoriesReplay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "histories", "*", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "there are no recorded histories: `make histories` records them")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			replayer := worker.NewWorkflowReplayer()
			for name, function := range registered {
				replayer.RegisterWorkflowWithOptions(function, workflow.RegisterOptions{Name: name})
			}
			require.NoError(t, replayer.ReplayWorkflowHistoryFromJSONFile(quiet(), file))
		})
	}
}
