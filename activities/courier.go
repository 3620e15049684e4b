package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Courier carries messages to workflows that may not be running yet: workflow
// code cannot signal-with-start.
type Courier struct {
	Temporal client.Client
}

// Letter is one message: the workflow is started when it does not run, and gets
// the signal in any case.
type Letter struct {
	Workflow  string `json:"workflow"` // type
	ID        string `json:"id"`
	TaskQueue string `json:"taskQueue"`
	Input     any    `json:"input"`
	Signal    string `json:"signal"`
	Payload   any    `json:"payload"`
	Summary   string `json:"summary,omitempty"`
	// TaskTimeout is the started workflow's; Temporal's default when zero.
	TaskTimeout time.Duration `json:"taskTimeout,omitempty"`
	Attributes  []Attribute   `json:"attributes,omitempty"`
}

// Attribute is a keyword search attribute that the started workflow gets.
type Attribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Deliver sends letters in order. A letter may arrive twice when the activity
// is repeated; receivers ignore what they know.
func (c *Courier) Deliver(ctx context.Context, letters []Letter) error {
	for _, l := range letters {
		options := client.StartWorkflowOptions{ID: l.ID, TaskQueue: l.TaskQueue, StaticSummary: l.Summary, WorkflowTaskTimeout: l.TaskTimeout}
		if len(l.Attributes) > 0 {
			options.TypedSearchAttributes = keywords(l.Attributes)
		}
		if _, err := c.Temporal.SignalWithStartWorkflow(ctx, l.ID, l.Signal, l.Payload, options, l.Workflow, l.Input); err != nil {
			return fmt.Errorf("signal %s to %s: %w", l.Signal, l.ID, err)
		}
		activity.RecordHeartbeat(ctx, l.ID)
	}
	return nil
}

func keywords(attributes []Attribute) temporal.SearchAttributes {
	updates := make([]temporal.SearchAttributeUpdate, 0, len(attributes))
	for _, a := range attributes {
		updates = append(updates, temporal.NewSearchAttributeKeyKeyword(a.Name).ValueSet(a.Value))
	}
	return temporal.NewSearchAttributes(updates...)
}

// Closed is how a workflow ended.
type Closed struct {
	Status string `json:"status"` // Completed, Terminated, Canceled …, or NotFound
	// Result is what it returned, as JSON; empty unless it completed.
	Result json.RawMessage `json:"result,omitempty"`
}

// AwaitClose waits until a workflow has closed, however it does: by itself, or
// terminated from the Web UI, which no signal of its own would tell.
func (c *Courier) AwaitClose(ctx context.Context, id string) (Closed, error) {
	defer beat(ctx)()
	var result json.RawMessage
	// An error that the workflow ended with does not matter here: Describe tells it
	// apart from an error of the call.
	getErr := c.Temporal.GetWorkflow(ctx, id, "").Get(ctx, &result)
	if ctx.Err() != nil {
		return Closed{}, ctx.Err()
	}
	description, err := c.Temporal.DescribeWorkflow(ctx, id, "")
	if err != nil {
		if isNotFound(err) {
			return Closed{Status: "NotFound"}, nil
		}
		return Closed{}, fmt.Errorf("describe %s: %w", id, err)
	}
	status := description.Status
	if status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return Closed{}, fmt.Errorf("wait for %s to close: %w", id, getErr)
	}
	return Closed{Status: status.String(), Result: result}, nil
}

// HasPollers says whether any worker serves a task queue for activities: when
// none does, nobody works for that region, and waiting for it would be a hang.
func (c *Courier) HasPollers(ctx context.Context, queue string) (bool, error) {
	answer, err := c.Temporal.DescribeTaskQueue(ctx, queue, enumspb.TASK_QUEUE_TYPE_ACTIVITY)
	if err != nil {
		return false, fmt.Errorf("describe task queue %s: %w", queue, err)
	}
	for _, poller := range answer.GetPollers() {
		if time.Since(poller.GetLastAccessTime().AsTime()) < pollerSilence {
			return true, nil
		}
	}
	return false, nil
}

// pollerSilence is how long a worker that lives can go without polling: a poll
// takes up to a minute. Temporal lists dead ones for some minutes more.
const pollerSilence = 75 * time.Second
