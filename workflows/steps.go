package workflows

import (
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// This file holds every activity that a workflow calls, with its timeouts and
// retries, and nothing else: what follows is the whole list of what Tidegate
// does to the world.

// An attempt whose worker has died is noticed within this time. What writes to a
// region is few at a time: its heartbeats are sent every second, and missed
// sooner; the others', of which there may be thousands, when four fifths have
// passed.
const (
	heartbeatTimeout = 4 * time.Second
	writeTimeout     = 3 * time.Second
)

var (
	source    *activities.Source
	renderer  *activities.Renderer
	region    *activities.Region
	courier   *activities.Courier
	keeper    *activities.Keeper
	librarian *activities.Librarian
)

// retry is how every activity is retried: soon, then less and less often. What
// must not be retried says so itself (activities/errors.go).
var retry = &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second}

// light is for calls that end by themselves in seconds. They share the
// workflows' own queue, so that they are dispatched eagerly.
func light(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: TaskQueue, StartToCloseTimeout: time.Minute, HeartbeatTimeout: 10 * time.Second, RetryPolicy: retry, Summary: summary,
	})
}

// standing is for calls that wait for something to happen, for as long as it takes.
func standing(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: TaskQueue, StartToCloseTimeout: 10 * 365 * 24 * time.Hour, HeartbeatTimeout: heartbeatTimeout, RetryPolicy: retry, Summary: summary,
	})
}

func observeRef(ctx workflow.Context, in activities.ObserveInput) (result activities.ObserveResult, err error) {
	ctx = light(ctx, "read the head of "+in.Ref.String())
	return result, workflow.ExecuteActivity(ctx, source.Observe, in).Get(ctx, &result)
}

func noteHead(ctx workflow.Context, in activities.NoteInput) error {
	ctx = light(ctx, "remember "+gitops.ShortRevision(in.Commit))
	return workflow.ExecuteActivity(ctx, source.Note, in).Get(ctx, nil)
}

func checkOut(ctx workflow.Context, in activities.CheckOutInput) (result activities.CheckOutResult, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: TaskQueue, StartToCloseTimeout: 2 * time.Minute, ScheduleToCloseTimeout: 15 * time.Minute,
		HeartbeatTimeout: heartbeatTimeout, RetryPolicy: retry, Summary: "check out the sources",
	})
	return result, workflow.ExecuteActivity(ctx, source.CheckOut, in).Get(ctx, &result)
}

// renderTargets returns what the renders have read also when they fail.
func renderTargets(ctx workflow.Context, in activities.RenderInput) (result activities.RenderResult, reads []activities.SourceReads, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: activities.RenderQueue, StartToCloseTimeout: 2 * time.Minute, ScheduleToCloseTimeout: 10 * time.Minute,
		HeartbeatTimeout: heartbeatTimeout, RetryPolicy: retry, Summary: fmt.Sprintf("render %d targets", len(in.Targets)),
	})
	err = workflow.ExecuteActivity(ctx, renderer.Render, in).Get(ctx, &result)
	var application *temporal.ApplicationError
	if errors.As(err, &application) && application.HasDetails() {
		var failure activities.RenderFailure
		if application.Details(&failure) == nil {
			return result, failure.Reads, err
		}
	}
	return result, result.Reads, err
}

// provideNeeds fetches what manifests refer to outside of their sources.
func provideNeeds(ctx workflow.Context, in activities.ProvideInput) (result activities.ProvideResult, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: TaskQueue, StartToCloseTimeout: 2 * time.Minute, ScheduleToCloseTimeout: 15 * time.Minute,
		HeartbeatTimeout: heartbeatTimeout, RetryPolicy: retry, Summary: fmt.Sprintf("fetch %d things that the manifests refer to", len(in.Needs)),
	})
	return result, workflow.ExecuteActivity(ctx, source.Provide, in).Get(ctx, &result)
}

func noteReads(ctx workflow.Context, in activities.NoteReadsInput) error {
	ctx = light(ctx, "remember what the renders read")
	return workflow.ExecuteActivity(ctx, source.NoteReads, in).Get(ctx, nil)
}

func deliverLetters(ctx workflow.Context, summary string, letters ...activities.Letter) error {
	if len(letters) == 0 {
		return nil
	}
	ctx = light(ctx, summary)
	return workflow.ExecuteActivity(ctx, courier.Deliver, letters).Get(ctx, nil)
}

func awaitClose(ctx workflow.Context, id string) (RolloutResult, error) {
	ctx = standing(ctx, "watch "+id)
	var closed struct{ Result RolloutResult }
	err := workflow.ExecuteActivity(ctx, courier.AwaitClose, id).Get(ctx, &closed)
	return closed.Result, err
}

func loadCatalog(ctx workflow.Context) (result activities.CatalogSummary, err error) {
	ctx = light(ctx, "read the catalog")
	return result, workflow.ExecuteActivity(ctx, librarian.Load).Get(ctx, &result)
}

func declaredTargets(ctx workflow.Context, names []string) (declared map[string]string, err error) {
	ctx = light(ctx, "does anybody declare what is to be deleted?")
	return declared, workflow.ExecuteActivity(ctx, librarian.Declared, names).Get(ctx, &declared)
}

func watchCatalog(ctx workflow.Context, digest string) error {
	ctx = standing(ctx, "watch the catalog")
	return workflow.ExecuteActivity(ctx, librarian.Watch, digest).Get(ctx, nil)
}

func pollSources(ctx workflow.Context) (moved []activities.Moved, err error) {
	ctx = standing(ctx, "ask every repository")
	return moved, workflow.ExecuteActivity(ctx, source.Poll).Get(ctx, &moved)
}

func readSpecification(ctx workflow.Context, digest string) (result gitops.Delivery, err error) {
	ctx = light(ctx, "read the specification")
	return result, workflow.ExecuteActivity(ctx, keeper.Specification, digest).Get(ctx, &result)
}

func saveCheckpoint(ctx workflow.Context, delivery string, state promotion.State) error {
	ctx = light(ctx, "save the checkpoint")
	return workflow.ExecuteActivity(ctx, keeper.SaveCheckpoint, delivery, state).Get(ctx, nil)
}

// checkpoint is activities.Checkpoint, decoded.
type checkpoint struct {
	Found bool            `json:"found"`
	State promotion.State `json:"state"`
}

func loadCheckpoint(ctx workflow.Context, delivery string) (result checkpoint, err error) {
	ctx = light(ctx, "look for a checkpoint")
	return result, workflow.ExecuteActivity(ctx, keeper.LoadCheckpoint, delivery).Get(ctx, &result)
}

// verdict is window.Verdict, decoded.
type verdict struct {
	Open  bool
	Until time.Time
	Why   string
}

func windowAt(ctx workflow.Context, rule gitops.WindowRule, at time.Time) (result verdict, err error) {
	ctx = light(ctx, "are the windows open?")
	return result, workflow.ExecuteActivity(ctx, keeper.WindowAt, rule, at).Get(ctx, &result)
}

func saveRecord(ctx workflow.Context, id string, record RolloutStatus) error {
	ctx = light(ctx, "save the record")
	return workflow.ExecuteActivity(ctx, keeper.SaveRecord, id, record).Get(ctx, nil)
}

// What follows runs with a region's credentials, on that region's queues.

func planTarget(ctx workflow.Context, in activities.PlanInput) (gitops.PlanSummary, error) {
	call := regionCall{region: in.Target.Region, queue: activities.RegionQueue(in.Target.Region), heartbeat: writeTimeout, summary: "plan " + in.Target.Name, limit: time.Minute, total: 5 * time.Minute}
	result := gitops.PlanSummary{Target: in.Target.Name, Region: in.Target.Region}
	lost, err := call.run(ctx, region.Plan, in, &result)
	if lost != "" {
		result.Unreachable = lost
	}
	return result, err
}

func applyStep(ctx workflow.Context, in activities.ApplyInput, step gitops.Step) (result activities.StepResult, err error) {
	name := in.Target.Region
	call := regionCall{
		region: name, queue: activities.RegionQueue(name), heartbeat: writeTimeout, limit: in.Deadline + time.Minute, total: in.Deadline + 2*time.Minute, waits: true,
		summary: fmt.Sprintf("%s: %s wave %d, %d objects", in.Target.Name, step.Phase, step.Wave, step.Apply),
	}
	lost, err := call.run(ctx, region.Apply, in, &result)
	if lost != "" {
		result.Unreachable = lost
	}
	return result, err
}

func waitStep(ctx workflow.Context, in activities.WaitInput, step gitops.Step) (result activities.WaitResult, err error) {
	name := in.Target.Region
	call := regionCall{
		region: name, queue: activities.RegionWaitQueue(name), heartbeat: heartbeatTimeout, limit: in.Deadline + time.Minute, total: in.Deadline + 2*time.Minute,
		summary: fmt.Sprintf("%s: %s wave %d healthy?", in.Target.Name, step.Phase, step.Wave),
	}
	lost, err := call.run(ctx, region.Wait, in, &result)
	if lost != "" {
		result.Unreachable = lost
	}
	return result, err
}

func soakTarget(ctx workflow.Context, in activities.SoakInput) (result activities.WaitResult, err error) {
	name := in.Target.Region
	call := regionCall{
		region: name, queue: activities.RegionWaitQueue(name), heartbeat: heartbeatTimeout, limit: 10 * 365 * 24 * time.Hour,
		summary: fmt.Sprintf("%s: healthy for %s?", in.Target.Name, in.For),
	}
	lost, err := call.run(ctx, region.Soak, in, &result)
	if lost != "" {
		result.Unreachable = lost
	}
	return result, err
}

// finishTarget ends the hooks of a target whose plan has come to its end.
func finishTarget(ctx workflow.Context, in activities.FinishInput) (lost string, err error) {
	name := in.Target.Region
	call := regionCall{
		region: name, queue: activities.RegionQueue(name), heartbeat: writeTimeout, limit: time.Minute, total: 5 * time.Minute,
		summary: in.Target.Name + ": end its hooks",
	}
	var result activities.FinishResult
	if lost, err = call.run(ctx, region.Finish, in, &result); lost == "" {
		lost = result.Unreachable
	}
	return lost, err
}

func probeRegion(ctx workflow.Context, name string) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: activities.RegionWaitQueue(name), StartToCloseTimeout: 10 * 365 * 24 * time.Hour,
		HeartbeatTimeout: heartbeatTimeout, RetryPolicy: retry, Summary: "ask whether " + name + " is back",
	})
	return workflow.ExecuteActivity(ctx, region.Probe, activities.ProbeInput{Region: name}).Get(ctx, nil)
}

// regionCall is one activity on a region's queue.
type regionCall struct {
	region, queue, summary string
	heartbeat              time.Duration // without which an attempt counts as dead
	limit                  time.Duration // of one attempt
	total                  time.Duration // of all attempts
	waits                  bool          // until the activity has ended when it is canceled
}

// run executes the activity. When nobody has taken it for a while, and nobody
// serves the queue, the region counts as lost and run says so instead of
// waiting for ever; a queue that is merely busy is waited for.
func (c regionCall) run(ctx workflow.Context, activity, in, result any) (lost string, err error) {
	for {
		ctx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			TaskQueue: c.queue, ScheduleToStartTimeout: 15 * time.Second, StartToCloseTimeout: c.limit, ScheduleToCloseTimeout: c.total,
			HeartbeatTimeout: c.heartbeat, RetryPolicy: retry, Summary: c.summary, WaitForCancellation: c.waits,
		})
		err := workflow.ExecuteActivity(ctx, activity, in).Get(ctx, result)
		if !isScheduleToStart(err) {
			return "", err
		}
		var served bool
		light := light(ctx, "does anybody serve "+c.queue+"?")
		if err := workflow.ExecuteActivity(light, courier.HasPollers, c.queue).Get(light, &served); err != nil {
			return "", err
		}
		if !served {
			return fmt.Sprintf("no worker serves region %s (task queue %s)", c.region, c.queue), nil
		}
	}
}

func isScheduleToStart(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout) && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START
}

// explain is an activity's error in words for people: the message of what went
// wrong, without Temporal's wrapping.
func explain(err error) string {
	var application *temporal.ApplicationError
	var timeout *temporal.TimeoutError
	switch {
	case errors.As(err, &application):
		return application.Message()
	case errors.As(err, &timeout):
		return "timed out: " + timeout.Message()
	default:
		return err.Error()
	}
}
