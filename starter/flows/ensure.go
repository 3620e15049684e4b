package flows

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/tidegate/tidegate/workflows"
)

// Keeper starts the workflows that must always run, unless they do: Catalog, Poll,
// and the Delivery of everything that is declared. One that was terminated comes
// back, and goes on from its checkpoint.
type Keeper struct {
	Client
	missing map[string]bool // Deliveries that did not run when it looked last
}

// Ensure looks once. A Delivery is started at the second look that misses it: one
// that ends because the catalog declares it no longer is still listed for a moment.
func (k *Keeper) Ensure(ctx context.Context) error {
	if err := k.ensureSingles(ctx); err != nil {
		return err
	}
	return k.ensureDeliveries(ctx)
}

func (c Client) ensureSingles(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	for _, w := range []struct {
		id, kind string
		input    any
	}{
		{workflows.CatalogID, workflows.CatalogType, workflows.CatalogInput{}},
		{workflows.PollID, workflows.PollType, workflows.PollInput{}},
	} {
		options := client.StartWorkflowOptions{
			ID: w.id, TaskQueue: workflows.TaskQueue,
			WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		}
		if _, err := c.Temporal.ExecuteWorkflow(ctx, options, w.kind, w.input); err != nil {
			return explain("start "+w.id, err)
		}
	}
	return nil
}

// runningDeliveries finds them by Temporal's visibility, which may lag behind by a
// second or so.
const runningDeliveries = "WorkflowType = '" + workflows.DeliveryType + "' AND ExecutionStatus = 'Running'"

// ensureDeliveries tells the Deliveries that Catalog has announced and that do not
// run what is declared of them, which starts them. One that runs after all hears
// what it knows.
func (k *Keeper) ensureDeliveries(ctx context.Context) error {
	var catalog workflows.CatalogStatus
	if err := k.Query(ctx, workflows.CatalogID, workflows.QueryStatus, &catalog); err != nil {
		return err
	}
	missed := k.missing
	k.missing = map[string]bool{}
	count, err := k.Temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: runningDeliveries})
	if err != nil {
		return explain("count the Deliveries", err)
	}
	if count.GetCount() >= int64(len(catalog.Deliveries)) {
		return nil
	}
	running, err := k.running(ctx)
	if err != nil {
		return explain("list the Deliveries", err)
	}
	for key, digest := range catalog.Deliveries {
		switch {
		case running[workflows.DeliveryID(key)]:
		case !missed[key]:
			k.missing[key] = true
		default:
			if err := k.startDelivery(ctx, key, digest); err != nil {
				return err
			}
		}
	}
	return nil
}

// Retiring are the Deliveries that run besides those declared. A Delivery that has ended
// a moment ago may be among them.
func (c Client) Retiring(ctx context.Context, declared map[string]bool) (keys []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	count, err := c.Temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: runningDeliveries})
	if err != nil || count.GetCount() <= int64(len(declared)) {
		return nil, explain("count the Deliveries", err)
	}
	running, err := c.running(ctx)
	for id := range running {
		if key, ok := workflows.DeliveryKey(id); ok && !declared[key] {
			keys = append(keys, key)
		}
	}
	return keys, explain("list the Deliveries", err)
}

// running are the ids of the Deliveries that run.
func (c Client) running(ctx context.Context) (map[string]bool, error) {
	ids := map[string]bool{}
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: runningDeliveries}
	for {
		page, err := c.Temporal.ListWorkflow(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetExecutions() {
			ids[e.GetExecution().GetWorkflowId()] = true
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return ids, nil
		}
	}
}

func (c Client) startDelivery(ctx context.Context, key, digest string) error {
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	id := workflows.DeliveryID(key)
	options := client.StartWorkflowOptions{
		ID: id, TaskQueue: workflows.TaskQueue, WorkflowTaskTimeout: workflows.TaskTimeout, StaticSummary: "Delivery " + key,
		TypedSearchAttributes: temporal.NewSearchAttributes(workflows.AttrDelivery.ValueSet(key)),
	}
	_, err := c.Temporal.SignalWithStartWorkflow(ctx, id, workflows.SignalSpecification, workflows.Specification{Digest: digest},
		options, workflows.DeliveryType, workflows.DeliveryInput{Key: key})
	return explain("start "+id, err)
}
