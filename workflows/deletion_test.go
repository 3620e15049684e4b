package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/workflows"
)

var deleteGate = gitops.Gate{Name: "delete", Kind: gitops.GateDelete}

// deletionFleet is a fleet whose targets are deleted, but for those that somebody
// declares, by name; kept says what stays of each.
func deletionFleet(t *testing.T, declared func() map[string]string) *fleet {
	t.Helper()
	f := newFleet(t)
	f.change = func(in *workflows.RolloutInput) { in.Stage, in.Release, in.Delete = gitops.DeletionStage, 0, true }
	f.plan = func(in activities.PlanInput) (gitops.PlanSummary, error) {
		require.True(t, in.Delete)
		require.Empty(t, in.Siblings)
		return gitops.PlanSummary{
			Target: in.Target.Name, Region: in.Target.Region, Digest: "digest", Artifact: "plan", Prune: 4, Kept: 1,
			Steps: []gitops.Step{{Phase: gitops.Prune, Wave: 1, Apply: 3, Wait: 3}, {Phase: gitops.Prune, Apply: 1, Wait: 1}},
		}, nil
	}
	var librarian *activities.Librarian
	f.env.OnActivity(librarian.Declared, mock.Anything, mock.Anything).Return(func(_ context.Context, names []string) (map[string]string, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		require.Len(t, names, 3)
		return declared(), nil
	})
	return f
}

func nobody() map[string]string { return nil }

func TestADeletionWaitsForAnApprovalOfItsPlan(t *testing.T) {
	f := deletionFleet(t, nobody)
	f.env.RegisterDelayedCallback(func() {
		status := f.status()
		require.Equal(t, gitops.PhaseWaiting, status.Phase)
		require.Contains(t, status.Gates[0].Message, "deletes all 12 objects of 3 targets that are no longer declared")
		require.Empty(t, f.applied())
		f.env.SignalWorkflow(workflows.SignalApprove, workflows.Decision{Gate: "delete", PlanDigest: status.PlanDigest, By: "ann"})
	}, time.Hour)
	result := f.run(deleteGate)
	require.Equal(t, gitops.PhaseDeleted, result.Phase)
	require.Equal(t, "3 targets are deleted", result.Message)
	require.Len(t, f.applied(), 6)
	require.Len(t, f.ended, 3, "the inventories go")
	for i, target := range result.Targets {
		require.Equal(t, gitops.TargetDeleted, target.Phase)
		require.Equal(t, "4 objects are deleted, 1 kept as their options say", target.Message)
		require.True(t, f.ended[i].Delivered)
	}
}

func TestADeletionLeavesWhatSomebodyDeclaresByNow(t *testing.T) {
	asked := 0
	f := deletionFleet(t, func() map[string]string {
		if asked++; asked == 1 {
			return map[string]string{"shop-us": "Delivery default/other declares it"}
		}
		return map[string]string{"shop-us": "Delivery default/other declares it", "shop-eu": "target shop-new takes its objects over"}
	})
	f.env.RegisterDelayedCallback(func() {
		f.env.SignalWorkflow(workflows.SignalApprove, workflows.Decision{Gate: "delete", PlanDigest: f.status().PlanDigest, By: "ann"})
	}, time.Hour)
	result := f.run(deleteGate)
	require.Equal(t, gitops.PhaseDeleted, result.Phase)
	require.Equal(t, []string{"shop-asia", "shop-asia"}, f.applied())
	require.Equal(t, "its objects stay: target shop-new takes its objects over", result.Targets[0].Message)
	require.Equal(t, "its objects stay: Delivery default/other declares it", result.Targets[1].Message)
}

func TestADeletionOfNothingAsksNobody(t *testing.T) {
	f := deletionFleet(t, func() map[string]string {
		return map[string]string{"shop-us": "it is declared", "shop-eu": "it is declared", "shop-asia": "it is declared"}
	})
	require.Equal(t, gitops.PhaseDeleted, f.run(deleteGate).Phase)
	require.Empty(t, f.applied())
}

func TestADeletionThatIsRejectedWritesNothing(t *testing.T) {
	f := deletionFleet(t, nobody)
	f.env.RegisterDelayedCallback(func() {
		f.env.SignalWorkflow(workflows.SignalReject, workflows.Decision{Gate: "delete", PlanDigest: f.status().PlanDigest, By: "ann"})
	}, time.Hour)
	require.Equal(t, gitops.PhaseRejected, f.run(deleteGate).Phase)
	require.Empty(t, f.applied())
	require.Empty(t, f.ended)
}

func TestADeletionStopsBeforeTheNextWave(t *testing.T) {
	f := deletionFleet(t, nobody)
	f.wait = func(_ context.Context, in activities.WaitInput) (activities.WaitResult, error) {
		f.env.SignalWorkflow(workflows.SignalSupersede, workflows.Stop{Reason: "it is declared again"})
		return activities.WaitResult{Health: gitops.Healthy}, nil
	}
	f.env.RegisterDelayedCallback(func() {
		f.env.SignalWorkflow(workflows.SignalApprove, workflows.Decision{Gate: "delete", PlanDigest: f.status().PlanDigest, By: "ann"})
	}, time.Hour)
	require.Equal(t, gitops.PhaseSuperseded, f.run(deleteGate).Phase)
	for _, in := range f.ended {
		require.False(t, in.Delivered, "the inventory of what is left stays")
	}
}

func TestASyncOfObjectsThatNoTargetHasFails(t *testing.T) {
	f := newFleet(t)
	f.change = func(in *workflows.RolloutInput) {
		in.CatchUp, in.Scope = true, &gitops.SyncScope{Resources: []string{":ConfigMap:typo"}}
	}
	f.plan = func(in activities.PlanInput) (gitops.PlanSummary, error) {
		require.Equal(t, []string{":ConfigMap:typo"}, in.Scope.Resources)
		return gitops.PlanSummary{Target: in.Target.Name, Digest: "digest", Artifact: "plan"}, nil
	}
	result := f.run()
	require.Equal(t, gitops.PhaseFailed, result.Phase)
	require.Contains(t, result.Message, "no target has an object that")
}

func TestAPreviewPlansEveryStageAndWritesNothing(t *testing.T) {
	f := newFleet(t)
	f.plan = func(in activities.PlanInput) (gitops.PlanSummary, error) {
		require.True(t, in.Preflight)
		if in.Target.Region == "asia" {
			return gitops.PlanSummary{Unreachable: "no answer"}, nil
		}
		plan := planOf(in.Target, "digest")
		plan.Sample, plan.PruneNeedsApproval = []string{"change ConfigMap shop/settings"}, "it deletes all"
		return plan, nil
	}
	in := workflows.PreviewInput{Delivery: "default/shop"}
	for _, region := range []string{"eu", "asia"} {
		stage := workflows.PreviewStage{Delivery: "default/shop", Stage: region, Release: 3}
		stage.Targets = []workflows.TargetInput{{Target: gitops.Target{Name: "shop-" + region, Region: region}}}
		in.Stages = append(in.Stages, stage)
	}
	f.env.ExecuteWorkflow(workflows.Preview, in)
	require.NoError(t, f.env.GetWorkflowError())
	var result workflows.PreviewResult
	require.NoError(t, f.env.GetWorkflowResult(&result))
	require.Equal(t, gitops.TargetPlanned, result.Stages[0].Targets[0].Phase)
	require.Equal(t, []string{"change ConfigMap shop/settings"}, result.Stages[0].Targets[0].Changes)
	require.Equal(t, "prune", result.Stages[0].Gates[0].Name)
	require.Equal(t, gitops.TargetUnreachable, result.Stages[1].Targets[0].Phase)
	require.Empty(t, f.applied())
	require.Empty(t, f.reports)
}
