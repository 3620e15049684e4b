package workflows_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/window"
)

// quiet is a logger that says nothing.
func quiet() log.Logger { return log.NewStructuredLogger(slog.New(slog.DiscardHandler)) }

// madeUp is every activity, with a made-up world behind it: a region's name says
// how it behaves.
type madeUp struct{ client client.Client }

func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (*madeUp) Observe(_ context.Context, in activities.ObserveInput) (activities.ObserveResult, error) {
	return activities.ObserveResult{Commit: "c1", Sequence: 1, Moved: true, HintShown: in.Hint != "not-yet", Deliveries: []string{"default/other"}, Affected: []string{"default/other"}}, nil
}

func (*madeUp) Note(context.Context, activities.NoteInput) error { return nil }

func (*madeUp) NoteReads(context.Context, activities.NoteReadsInput) error { return nil }

func (*madeUp) CheckOut(_ context.Context, in activities.CheckOutInput) (activities.CheckOutResult, error) {
	var result activities.CheckOutResult
	for _, s := range in.Sources {
		result.Checkouts = append(result.Checkouts, activities.Checkout{Ref: s.Ref, Commit: s.Commit, Digest: "checkout"})
	}
	return result, nil
}

func (*madeUp) Poll(ctx context.Context) ([]activities.Moved, error) { return nil, hang(ctx) }

func (*madeUp) Render(ctx context.Context, in activities.RenderInput) (activities.RenderResult, error) {
	var result activities.RenderResult
	for _, t := range in.Targets {
		if t.Region == "render-hangs" {
			return result, hang(ctx)
		}
		result.Bundles = append(result.Bundles, gitops.Bundle{Target: t.Name, Digest: "bundle", Objects: 2})
	}
	return result, nil
}

// Deliver carries no letters: nobody that they are for is there.
func (*madeUp) Deliver(context.Context, []activities.Letter) error { return nil }

func (*madeUp) AwaitClose(ctx context.Context, _ string) (activities.Closed, error) {
	return activities.Closed{}, hang(ctx)
}

func (*madeUp) HasPollers(context.Context, string) (bool, error) { return true, nil }

// Specification takes the specification itself for its digest.
func (*madeUp) Specification(_ context.Context, digest string) (d gitops.Delivery, err error) {
	return d, json.Unmarshal([]byte(digest), &d)
}

func (*madeUp) SaveCheckpoint(context.Context, string, json.RawMessage) error { return nil }

func (*madeUp) LoadCheckpoint(context.Context, string) (activities.Checkpoint, error) {
	return activities.Checkpoint{}, nil
}

func (*madeUp) SaveRecord(context.Context, string, json.RawMessage) error { return nil }

func (*madeUp) Load(context.Context) (activities.CatalogSummary, error) {
	return activities.CatalogSummary{Digest: "catalog", Deliveries: map[string]string{"default/other": "spec"}}, nil
}

func (*madeUp) Watch(ctx context.Context, _ string) error { return hang(ctx) }

func (*madeUp) Plan(ctx context.Context, in activities.PlanInput) (gitops.PlanSummary, error) {
	switch in.Target.Region {
	case "plan-hangs":
		return gitops.PlanSummary{}, hang(ctx)
	case "lost":
		return gitops.PlanSummary{Target: in.Target.Name, Unreachable: "connection refused"}, nil
	}
	plan := planOf(in.Target, "digest")
	if in.Target.Region == "hooks" {
		plan.Hooks, plan.Steps[0].Hooks = 1, 1
	}
	if in.Delete {
		plan.Steps = []gitops.Step{{Phase: gitops.PreDelete, Apply: 1, Wait: 1, Hooks: 1}, {Phase: gitops.Prune, Apply: 2, Wait: 2}}
		plan.Apply, plan.Prune, plan.Hooks = 0, 2, 1
	}
	if in.Target.Region == "prunes" {
		plan.Steps[1] = gitops.Step{Phase: gitops.Prune, Apply: 3, Wait: 3}
		plan.Prune, plan.PruneNeedsApproval = 3, "3 of 5 objects would be deleted"
	}
	return plan, nil
}

func (*madeUp) Apply(ctx context.Context, in activities.ApplyInput) (activities.StepResult, error) {
	switch {
	case in.Target.Region == "apply-hangs":
		return activities.StepResult{}, hang(ctx)
	case in.Target.Region == "fails" && in.Step == 1:
		return activities.StepResult{}, temporal.NewNonRetryableApplicationError("a newer rollout has taken over", activities.ErrorFenced, nil)
	}
	return activities.StepResult{Applied: 1, Records: "records"}, nil
}

func (*madeUp) Wait(ctx context.Context, in activities.WaitInput) (activities.WaitResult, error) {
	if strings.HasPrefix(in.Target.Region, "wait-hangs") {
		return activities.WaitResult{}, hang(ctx)
	}
	return activities.WaitResult{Health: gitops.Healthy}, nil
}

func (*madeUp) Finish(context.Context, activities.FinishInput) (activities.FinishResult, error) {
	return activities.FinishResult{}, nil
}

func (*madeUp) Soak(ctx context.Context, in activities.SoakInput) (activities.WaitResult, error) {
	if in.Target.Region == "soaks" {
		return activities.WaitResult{}, hang(ctx)
	}
	return activities.WaitResult{Health: gitops.Healthy}, nil
}

func (*madeUp) WindowAt(_ context.Context, rule gitops.WindowRule, at time.Time) (window.Verdict, error) {
	return window.At(rule, at)
}

// Declared says that what is called so is declared.
func (*madeUp) Declared(_ context.Context, names []string) (map[string]string, error) {
	declared := map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "declared") {
			declared[name] = "Delivery default/other declares it"
		}
	}
	return declared, nil
}

func (*madeUp) Probe(ctx context.Context, _ activities.ProbeInput) (activities.ProbeResult, error) {
	return activities.ProbeResult{}, hang(ctx)
}
