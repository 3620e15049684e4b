package workflows_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/deploy/local/stack"
	"github.com/tidegate/tidegate/deploy/local/stack/stacktest"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/workflows"
)

var (
	update  = flag.Bool("update", false, "record the histories anew")
	release = flag.String("release", "unreleased", "the folder of testdata/histories to record into")
)

// TestHistoriesAreRecorded drives every workflow into every state that it waits
// in, on a real Temporal, with the world behind the activities made up, and
// keeps the histories for later builds to replay.
func TestHistoriesAreRecorded(t *testing.T) {
	if !*update {
		t.Skip("records only with -update (`make histories`): old histories are what a replay is for")
	}
	s := stacktest.Start(t, stack.Options{Temporal: true})
	c, err := client.Dial(client.Options{HostPort: s.Temporal.Address, Logger: quiet()})
	require.NoError(t, err)
	r := &recorder{t: t, client: c, dir: filepath.Join("testdata", "histories", *release)}
	require.NoError(t, os.MkdirAll(r.dir, 0o750))
	r.serve()
	r.recordPush()
	r.recordRollouts()
	r.recordDeliveries()
	r.recordStanding()
}

// recorder starts workflows, waits until they are where they should be, and
// writes down how they got there.
type recorder struct {
	t      *testing.T
	client client.Client
	dir    string
}

func (r *recorder) serve() {
	queues := []string{workflows.TaskQueue, activities.RenderQueue}
	for _, region := range []string{"ok", "plan-hangs", "apply-hangs", "wait-hangs", "fails", "lost", "prunes", "hooks", "declared", "soaks"} {
		queues = append(queues, activities.RegionQueue(region), activities.RegionWaitQueue(region))
	}
	for i, queue := range queues {
		w := worker.New(r.client, queue, worker.Options{DisableWorkflowWorker: i > 0})
		if i == 0 {
			for name, function := range registered {
				w.RegisterWorkflowWithOptions(function, workflow.RegisterOptions{Name: name})
			}
		}
		w.RegisterActivity(&madeUp{client: r.client})
		require.NoError(r.t, w.Start())
		r.t.Cleanup(w.Stop)
	}
}

// start starts a workflow with an id that is also the file's name.
func (r *recorder) start(name, kind string, input any) {
	_, err := r.client.ExecuteWorkflow(r.t.Context(), client.StartWorkflowOptions{ID: name, TaskQueue: workflows.TaskQueue}, kind, input)
	require.NoError(r.t, err)
}

func (r *recorder) signal(name, signal string, payload any) {
	require.NoError(r.t, r.client.SignalWorkflow(r.t.Context(), name, "", signal, payload))
}

// until waits for an event of a workflow's history; events come one at a time
// from a long poll, so nothing is asked twice.
func (r *recorder) until(name string, reached func(*historypb.HistoryEvent) bool) {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	events := r.client.GetWorkflowHistory(ctx, name, "", true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(r.t, err, name)
		if reached(event) {
			return
		}
	}
	r.t.Fatalf("%s has closed without getting there", name)
}

// save writes a history down as it is now.
func (r *recorder) save(id, name string) {
	var history historypb.History
	events := r.client.GetWorkflowHistory(r.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(r.t, err)
		history.Events = append(history.Events, event)
	}
	text, err := protojson.MarshalOptions{Multiline: true, Indent: " "}.Marshal(&history)
	require.NoError(r.t, err)
	require.NoError(r.t, os.WriteFile(filepath.Join(r.dir, name+".json"), append(text, '\n'), 0o600))
}

// scheduled says whether an activity of that name was scheduled.
func scheduled(activity string) func(*historypb.HistoryEvent) bool {
	return func(e *historypb.HistoryEvent) bool {
		return e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == activity
	}
}

func payloads(p *commonpb.Payloads) string {
	var b strings.Builder
	for _, payload := range p.GetPayloads() {
		b.Write(payload.GetData())
	}
	return b.String()
}

func closed(e *historypb.HistoryEvent) bool {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
		return true
	default:
		return false
	}
}

func (r *recorder) recordPush() {
	for name, hint := range map[string]string{"push-closed": "c1", "push-waits-for-a-commit": "not-yet"} {
		_, err := r.client.SignalWithStartWorkflow(r.t.Context(), name, workflows.SignalHint, workflows.Hint{Commit: hint, From: "github 1"},
			client.StartWorkflowOptions{ID: name, TaskQueue: workflows.TaskQueue}, workflows.PushType, workflows.PushInput{Ref: gitops.Ref{Repository: "git.example.com/shop", Revision: "main"}})
		require.NoError(r.t, err)
	}
	r.until("push-closed", closed)
	r.save("push-closed", "push-closed")
	r.until("push-waits-for-a-commit", func(e *historypb.HistoryEvent) bool { return e.GetTimerStartedEventAttributes() != nil })
	r.save("push-waits-for-a-commit", "push-waits-for-a-commit")
}

func rolloutInto(gates []gitops.Gate, regions ...string) workflows.RolloutInput {
	in := workflows.RolloutInput{Delivery: "default/nobody", Stage: "production", Number: 1, Release: 1, Revision: "0123456789abcdef", Gates: gates, Granted: len(gates) == 0}
	for _, region := range regions {
		in.Targets = append(in.Targets, workflows.TargetInput{Target: gitops.Target{Name: "shop-" + region, Region: region}, Bundle: gitops.Bundle{Target: "shop-" + region, Digest: "bundle"}})
	}
	return in
}

func (r *recorder) recordRollouts() {
	gates := []gitops.Gate{approval()}
	for _, c := range []struct {
		name    string
		in      workflows.RolloutInput
		reached func(*historypb.HistoryEvent) bool
		then    func(name string)
	}{
		{"rollout-plans", rolloutInto(nil, "ok", "plan-hangs"), scheduled("Plan"), nil},
		{"rollout-at-a-gate", rolloutInto(gates, "ok"), scheduled("Deliver"), nil},
		{"rollout-waits-for-the-lock", rolloutInto(gates, "ok"), scheduled("Deliver"), r.approve},
		{"rollout-applies", rolloutInto(nil, "ok", "apply-hangs"), scheduled("Apply"), nil},
		{"rollout-waits-for-health", rolloutInto(nil, "ok", "wait-hangs"), scheduled("Wait"), nil},
		{"rollout-waits-to-prune", rolloutInto(nil, "ok", "prunes"), scheduled("Wait"), nil},
		{"rollout-healthy", rolloutInto(nil, "ok", "lost"), closed, nil},
		{"rollout-failed", rolloutInto(nil, "ok", "fails"), closed, nil},
		{"rollout-superseded", rolloutInto(nil, "ok", "wait-hangs"), scheduled("Wait"), func(name string) {
			r.signal(name, workflows.SignalSupersede, workflows.Stop{Reason: "release 2 is newer"})
			r.until(name, closed)
		}},
		{"rollout-ends-hooks", rolloutInto(nil, "ok", "hooks"), closed, nil},
		{"rollout-of-some-objects", someOf(rolloutInto(nil, "ok", "prunes")), scheduled("Wait"), nil},
		{"rollout-soaks", inBatches(rolloutInto(nil, "ok", "soaks")), scheduled("Soak"), nil},
		{"rollout-in-batches", inBatches(rolloutInto(nil, "ok", "hooks")), closed, nil},
		{"rollout-behind-a-window", rolloutInto([]gitops.Gate{quorum(), officeHours()}, "ok"), scheduled("WindowAt"), func(name string) {
			r.until(name, scheduled("Deliver"))
			r.updates(name)
		}},
		{"deletion-at-its-gate", deletionOf("ok", "declared"), scheduled("Deliver"), nil},
		{"deletion-waits", deletionOf("wait-hangs"), scheduled("Deliver"), r.letIn},
		{"deletion-closed", deletionOf("ok", "declared", "lost"), scheduled("Deliver"), func(name string) {
			r.letIn(name)
			r.until(name, closed)
		}},
		{"rollout-rejected", rolloutInto(gates, "ok"), scheduled("Deliver"), func(name string) {
			r.signal(name, workflows.SignalReject, r.decision(name))
			r.until(name, closed)
		}},
		{"rollout-canceled", rolloutInto(gates, "ok"), scheduled("Deliver"), func(name string) {
			require.NoError(r.t, r.client.CancelWorkflow(r.t.Context(), name, ""))
			r.until(name, closed)
		}},
	} {
		r.start(c.name, workflows.RolloutType, c.in)
		r.until(c.name, c.reached)
		if c.then != nil {
			c.then(c.name)
		}
		r.save(c.name, c.name)
	}
}

func someOf(in workflows.RolloutInput) workflows.RolloutInput {
	in.CatchUp, in.Scope = true, &gitops.SyncScope{Resources: []string{":ConfigMap:*"}, Prune: true}
	return in
}

func inBatches(in workflows.RolloutInput) workflows.RolloutInput {
	in.Strategy = &gitops.Strategy{Batches: []gitops.Amount{{Count: 1}}, MaxParallel: 1, Soak: time.Minute, FailureBudget: &gitops.Amount{Count: 1}, Deadline: time.Hour}
	return in
}

// updates approves by one of the two persons that a gate takes.
func (r *recorder) updates(name string) {
	handle, err := r.client.UpdateWorkflow(r.t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: name, UpdateName: workflows.UpdateApprove, Args: []any{r.decision(name)}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	require.NoError(r.t, err)
	require.NoError(r.t, handle.Get(r.t.Context(), nil))
}

func deletionOf(regions ...string) workflows.RolloutInput {
	in := rolloutInto([]gitops.Gate{{Name: "delete", Kind: gitops.GateDelete}}, regions...)
	in.Stage, in.Release, in.Revision, in.Delete = gitops.DeletionStage, 0, "", true
	return in
}

// letIn approves, gives the lock, and waits until something is deleted.
func (r *recorder) letIn(name string) {
	d := r.decision(name)
	d.Gate = "delete"
	r.signal(name, workflows.SignalApprove, d)
	r.signal(name, workflows.SignalGrant, workflows.Grant{})
	r.until(name, scheduled("Apply"))
}

func (r *recorder) approve(name string) {
	r.signal(name, workflows.SignalApprove, workflows.Decision{Gate: "approval", PlanDigest: "a guess", By: "ann"})
	r.updates(name)
	asked := 0
	r.until(name, func(e *historypb.HistoryEvent) bool {
		if scheduled("Deliver")(e) {
			asked++
		}
		return asked == 2 // the report of the wait, then the request for the lock
	})
}

// decision is one about the plan that a rollout shows.
func (r *recorder) decision(name string) workflows.Decision {
	value, err := r.client.QueryWorkflow(r.t.Context(), name, "", workflows.QueryStatus)
	require.NoError(r.t, err)
	var status workflows.RolloutStatus
	require.NoError(r.t, value.Get(&status))
	return workflows.Decision{Gate: "approval", PlanDigest: status.PlanDigest, By: "ann"}
}

// recordDeliveries gives each Delivery one region, which decides how far it gets.
func (r *recorder) recordDeliveries() {
	for _, c := range []struct {
		name, region string
		gates        []gitops.Gate
		reached      func(*historypb.HistoryEvent) bool
	}{
		{"delivery-idle", "ok", nil, func(e *historypb.HistoryEvent) bool {
			return e.GetChildWorkflowExecutionCompletedEventAttributes() != nil
		}},
		{"delivery-renders", "render-hangs", nil, scheduled("Render")},
		{"delivery-rolls-out", "wait-hangs", nil, func(e *historypb.HistoryEvent) bool {
			return e.GetChildWorkflowExecutionStartedEventAttributes() != nil
		}},
		{"delivery-has-a-candidate", "ok", []gitops.Gate{approval()}, func(e *historypb.HistoryEvent) bool {
			return strings.Contains(payloads(e.GetWorkflowExecutionSignaledEventAttributes().GetInput()), string(gitops.PhaseWaiting))
		}},
		{"delivery-probes", "lost", nil, scheduled("Probe")},
	} {
		id := workflows.DeliveryID("default/" + c.name)
		spec := gitops.Delivery{
			Project: "default", Name: c.name, Digest: "spec", Stages: []gitops.Stage{{Name: "all", Targets: []string{c.name}, Gates: c.gates}},
			Targets: []gitops.Target{{Name: c.name, Project: "default", Region: c.region, Finalizer: true, SyncPolicy: gitops.SyncPolicy{Automated: true}, Source: gitops.Source{Repository: "git.example.com/shop", Revision: "main", Path: "."}}},
		}
		declared, err := json.Marshal(spec)
		require.NoError(r.t, err)
		r.start(id, workflows.DeliveryType, workflows.DeliveryInput{Key: "default/" + c.name})
		r.signal(id, workflows.SignalSpecification, workflows.Specification{Digest: string(declared)})
		ref := spec.Targets[0].Source.Ref()
		r.signal(id, workflows.SignalEvent, promotion.Event{Kind: promotion.HeadMoved, Ref: &ref, Commit: "c1", Seq: 1, At: time.Unix(1, 0)})
		r.until(id, c.reached)
		r.save(id, c.name)
	}
	r.recordRetirement()
}

// recordRetirement retires the Delivery that idles: its target is to be deleted.
func (r *recorder) recordRetirement() {
	id := workflows.DeliveryID("default/delivery-idle")
	r.signal(id, workflows.SignalSpecification, workflows.Specification{Retired: true})
	r.until(id, func(e *historypb.HistoryEvent) bool {
		return e.GetChildWorkflowExecutionStartedEventAttributes().GetWorkflowExecution().GetWorkflowId() == workflows.RolloutID("default/delivery-idle", gitops.DeletionStage, 2)
	})
	r.save(id, "delivery-retires")
	handle, err := r.client.UpdateWorkflow(r.t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: workflows.UpdateAbandon, Args: []any{workflows.AbandonRequest{By: "ann"}}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	require.NoError(r.t, err)
	require.NoError(r.t, handle.Get(r.t.Context(), nil))
	r.until(id, closed)
	r.save(id, "delivery-retired")
}

func (r *recorder) recordStanding() {
	stage := rolloutInto(nil, "ok", "prunes")
	stage.Granted, stage.Number = false, 0
	r.start("preview", workflows.PreviewType, workflows.PreviewInput{Delivery: "default/nobody", Stages: []workflows.PreviewStage{stage}})
	r.until("preview", closed)
	r.save("preview", "preview-closed")
	r.start(workflows.CatalogID, workflows.CatalogType, workflows.CatalogInput{})
	r.until(workflows.CatalogID, scheduled("Watch"))
	r.save(workflows.CatalogID, "catalog-watches")
	r.start(workflows.PollID, workflows.PollType, workflows.PollInput{})
	r.until(workflows.PollID, scheduled("Poll"))
	r.save(workflows.PollID, "poll-asks")
}
