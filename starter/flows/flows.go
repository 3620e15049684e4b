// Package flows speaks with Tidegate's workflows: it starts, signals, updates
// and queries them, and sorts Temporal's many errors into the few that the
// starter answers differently.
package flows

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/workflows"
)

// How long Temporal, or a worker, may take. A Git host gives a webhook ten
// seconds.
const (
	hintTimeout   = 8 * time.Second
	queryTimeout  = 5 * time.Second
	updateTimeout = 10 * time.Second
)

// Client speaks with workflows.
type Client struct {
	Temporal client.Client
	// Answers, if set, spares workflows queries whose answer cannot have changed.
	Answers *Answers
}

// Hint tells the Push workflow of a ref that it may have moved, and starts it
// when it does not run. Once it returns without an error, Temporal has the hint
// on disk. It returns the workflow's id.
func (c Client) Hint(ctx context.Context, ref gitops.Ref, hint workflows.Hint) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, hintTimeout)
	defer cancel()
	id := workflows.PushID(ref)
	options := client.StartWorkflowOptions{
		ID: id, TaskQueue: workflows.TaskQueue, StaticSummary: ref.String(),
		TypedSearchAttributes: temporal.NewSearchAttributes(workflows.AttrRepository.ValueSet(ref.Repository)),
	}
	_, err := c.Temporal.SignalWithStartWorkflow(ctx, id, workflows.SignalHint, hint, options, workflows.PushType, workflows.PushInput{Ref: ref})
	return id, explain("signal "+id, err)
}

// Query asks a workflow, running or closed, and decodes its answer into result.
func (c Client) Query(ctx context.Context, id, query string, result any) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	value, err := c.query(ctx, question{id, query})
	if err != nil {
		return explain("query "+id, err)
	}
	if err := value.Get(result); err != nil {
		return fmt.Errorf("decode what %s answers: %w", id, err)
	}
	return nil
}

// Order is an update that a workflow is asked to make.
type Order struct {
	Workflow string // its id
	Name     string // of the update
	// Key makes a repeated order the same one: a workflow carries out one order
	// per key, and answers the others as it did the first.
	Key string
	Arg any
}

// Update sends an order and waits for its result. A Refused error says that the
// workflow does not want it; nothing has happened then.
func (c Client) Update(ctx context.Context, o Order, result any) error {
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	handle, err := c.Temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: o.Workflow, UpdateName: o.Name, UpdateID: o.Key, Args: []any{o.Arg}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, result)
	}
	return explain(o.Name+" "+o.Workflow, err)
}

// previewTimeout is how long the plans of a preview may take all together.
const previewTimeout = 50 * time.Second

// Preview runs a Preview workflow, and waits for its result. One that nobody waits for
// any more ends by itself.
func (c Client) Preview(ctx context.Context, id string, in workflows.PreviewInput, result *workflows.PreviewResult) error {
	ctx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	run, err := c.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: workflows.TaskQueue, WorkflowExecutionTimeout: 2 * previewTimeout, StaticSummary: "what would a sync do?",
	}, workflows.PreviewType, in)
	if err == nil {
		err = run.Get(ctx, result)
	}
	return explain("preview "+in.Delivery, err)
}

// Signal sends a signal to a workflow that runs.
func (c Client) Signal(ctx context.Context, id, signal string, arg any) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return explain("signal "+id, c.Temporal.SignalWorkflow(ctx, id, "", signal, arg))
}

// Ready says whether Temporal answers.
func (c Client) Ready(ctx context.Context) error {
	_, err := c.Temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
	return explain("check Temporal", err)
}
