package workflows_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/workflows"
)

// fleet is what the regions of a test do, and what the Delivery was told.
type fleet struct {
	t       *testing.T
	env     *testsuite.TestWorkflowEnvironment
	plan    func(activities.PlanInput) (gitops.PlanSummary, error)
	apply   func(activities.ApplyInput) (activities.StepResult, error)
	wait    func(context.Context, activities.WaitInput) (activities.WaitResult, error)
	mu      sync.Mutex // activities run beside each other
	written []string
	ended   []activities.FinishInput
	soak    func(context.Context, activities.SoakInput) (activities.WaitResult, error)
	change  func(*workflows.RolloutInput) // what else is asked for
	reports []promotion.Event
}

func newFleet(t *testing.T) *fleet {
	f := &fleet{t: t, env: newEnvironment()}
	f.plan = func(in activities.PlanInput) (gitops.PlanSummary, error) { return planOf(in.Target, "digest-1"), nil }
	f.apply = func(activities.ApplyInput) (activities.StepResult, error) {
		return activities.StepResult{Applied: 1, Records: "records"}, nil
	}
	f.wait = func(context.Context, activities.WaitInput) (activities.WaitResult, error) {
		return activities.WaitResult{Health: gitops.Healthy}, nil
	}
	var region *activities.Region
	var keeper *activities.Keeper
	f.env.OnActivity(region.Plan, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.PlanInput) (gitops.PlanSummary, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.plan(in)
	})
	f.env.OnActivity(region.Apply, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.ApplyInput) (activities.StepResult, error) {
		f.mu.Lock()
		f.written = append(f.written, in.Target.Name)
		f.mu.Unlock()
		return f.apply(in)
	})
	f.env.OnActivity(region.Wait, mock.Anything, mock.Anything).Return(func(ctx context.Context, in activities.WaitInput) (activities.WaitResult, error) {
		return f.wait(ctx, in)
	})
	f.soak = func(context.Context, activities.SoakInput) (activities.WaitResult, error) {
		return activities.WaitResult{Health: gitops.Healthy}, nil
	}
	f.env.OnActivity(region.Soak, mock.Anything, mock.Anything).Return(func(ctx context.Context, in activities.SoakInput) (activities.WaitResult, error) {
		return f.soak(ctx, in)
	})
	f.env.OnActivity(region.Finish, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.FinishInput) (activities.FinishResult, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ended = append(f.ended, in)
		return activities.FinishResult{}, nil
	})
	f.env.OnActivity(keeper.SaveRecord, mock.Anything, mock.Anything, mock.Anything).Return(nil)
	f.env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, workflows.SignalEvent, mock.Anything).Return(func(_, _, _, _ string, payload any) error {
		event := payload.(promotion.Event)
		f.mu.Lock()
		f.reports = append(f.reports, event)
		f.mu.Unlock()
		if event.Phase == gitops.PhaseApproved {
			f.env.SignalWorkflow(workflows.SignalGrant, workflows.Grant{})
		}
		return nil
	})
	return f
}

// newEnvironment is Temporal's test environment, without its log.
func newEnvironment() *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet())
	return suite.NewTestWorkflowEnvironment()
}

func planOf(t gitops.Target, digest string) gitops.PlanSummary {
	return gitops.PlanSummary{
		Target: t.Name, Region: t.Region, Digest: digest, Artifact: "plan-" + t.Name, Apply: 2,
		Steps: []gitops.Step{{Phase: gitops.Sync, Wave: 0, Apply: 1, Wait: 1}, {Phase: gitops.Sync, Wave: 1, Apply: 1, Wait: 1}},
	}
}

// applied are the targets that were written to, once for each step.
func (f *fleet) applied() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.written)
}

// run runs a rollout into three regions and returns how it ended.
func (f *fleet) run(gates ...gitops.Gate) workflows.RolloutResult {
	in := workflows.RolloutInput{Delivery: "default/shop", Stage: "production", Number: 7, Release: 3, Revision: "0123456789", Gates: gates, Granted: len(gates) == 0}
	for _, name := range []string{"eu", "us", "asia"} {
		in.Targets = append(in.Targets, workflows.TargetInput{Target: gitops.Target{Name: "shop-" + name, Region: name}, Bundle: gitops.Bundle{Target: "shop-" + name, Digest: "bundle"}})
	}
	if f.change != nil {
		f.change(&in)
	}
	f.env.ExecuteWorkflow(workflows.Rollout, in)
	require.True(f.t, f.env.IsWorkflowCompleted())
	require.NoError(f.t, f.env.GetWorkflowError())
	var result workflows.RolloutResult
	require.NoError(f.t, f.env.GetWorkflowResult(&result))
	return result
}

func (f *fleet) status() workflows.RolloutStatus {
	value, err := f.env.QueryWorkflow(workflows.QueryStatus)
	require.NoError(f.t, err)
	var s workflows.RolloutStatus
	require.NoError(f.t, value.Get(&s))
	return s
}

// phases are those of the targets, in order.
func (f *fleet) phases() []gitops.TargetPhase {
	var phases []gitops.TargetPhase
	for _, t := range f.status().Targets {
		phases = append(phases, t.Phase)
	}
	return phases
}

// reported are the phases that the Delivery was told, in order of their sequence.
func (f *fleet) reported() []gitops.Phase {
	var phases []gitops.Phase
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.SortFunc(f.reports, func(a, b promotion.Event) int { return int(a.Seq - b.Seq) })
	for _, r := range f.reports {
		phases = append(phases, r.Phase)
	}
	return phases
}

// update sends a decision; the refusal, if any, is there once the workflow has
// had its turn.
func (f *fleet) update(name string, d workflows.Decision) *error {
	refusal := new(error)
	f.env.UpdateWorkflow(name, "", &testsuite.TestUpdateCallback{
		OnReject:   func(err error) { *refusal = err },
		OnAccept:   func() {},
		OnComplete: func(any, error) {},
	}, d)
	return refusal
}

func approval() gitops.Gate { return gitops.Gate{Name: "approval", Kind: gitops.GateApproval} }

func TestAReleaseIsAppliedWaveByWaveInEveryRegion(t *testing.T) {
	f := newFleet(t)
	result := f.run()
	require.Equal(t, gitops.PhaseHealthy, result.Phase)
	require.Len(t, f.applied(), 6, "two waves in three regions")
	require.Equal(t, []gitops.TargetPhase{gitops.TargetHealthy, gitops.TargetHealthy, gitops.TargetHealthy}, f.phases())
	require.Equal(t, []gitops.Phase{gitops.PhaseProgressing, gitops.PhaseHealthy}, f.reported())
}

func TestAWaveThatIsNotHealthyHoldsTheNextOne(t *testing.T) {
	f := newFleet(t)
	f.wait = func(_ context.Context, in activities.WaitInput) (activities.WaitResult, error) {
		if in.Target.Region == "us" {
			return activities.WaitResult{Health: gitops.Degraded, Issues: []gitops.ObjectIssue{{Object: "apps/Deployment shop/web", Message: "image cannot be pulled"}}}, nil
		}
		return activities.WaitResult{Health: gitops.Healthy}, nil
	}
	result := f.run()
	require.Equal(t, gitops.PhaseFailed, result.Phase)
	require.Equal(t, []gitops.TargetPhase{gitops.TargetHealthy, gitops.TargetFailed, gitops.TargetHealthy}, f.phases(), "the other regions go on")
	require.Len(t, f.applied(), 5, "us stops after its first wave")
	require.Contains(t, f.status().Targets[1].Message, "apps/Deployment shop/web: image cannot be pulled")
	require.Contains(t, f.reported(), gitops.PhaseDegraded, "the Delivery hears of it before the others are done")
}

func TestARegionThatCannotBeReachedIsLeftBehind(t *testing.T) {
	f := newFleet(t)
	f.plan = func(in activities.PlanInput) (gitops.PlanSummary, error) {
		if in.Target.Region == "asia" {
			return gitops.PlanSummary{Unreachable: "connection refused"}, nil
		}
		return planOf(in.Target, "digest-1"), nil
	}
	result := f.run()
	require.Equal(t, gitops.PhaseHealthy, result.Phase)
	require.Equal(t, gitops.TargetUnreachable, f.phases()[2])
	require.Contains(t, result.Message, "1 could not be reached")
}

func TestARegionThatIsSlowToPlanHoldsUpNoOther(t *testing.T) {
	f := newFleet(t)
	var others sync.WaitGroup
	others.Add(4) // two waves in two regions
	f.wait = func(_ context.Context, in activities.WaitInput) (activities.WaitResult, error) {
		if in.Target.Region != "asia" {
			others.Done()
		}
		return activities.WaitResult{Health: gitops.Healthy}, nil
	}
	f.plan = func(in activities.PlanInput) (gitops.PlanSummary, error) {
		if in.Target.Region == "asia" {
			f.mu.Unlock()
			others.Wait()
			f.mu.Lock()
		}
		return planOf(in.Target, "digest-1"), nil
	}
	require.Equal(t, gitops.PhaseHealthy, f.run().Phase)
	require.NotEmpty(t, f.status().PlanDigest)
}

func TestAPlanThatIsRefusedFailsThatRegionOnly(t *testing.T) {
	f := newFleet(t)
	f.plan = func(in activities.PlanInput) (gitops.PlanSummary, error) {
		if in.Target.Region == "eu" {
			return gitops.PlanSummary{}, temporal.NewNonRetryableApplicationError("v1/ConfigMap shop/settings exists and is not managed by Tidegate", "Refused", nil)
		}
		return planOf(in.Target, "digest-1"), nil
	}
	require.Equal(t, gitops.PhaseFailed, f.run().Phase)
	require.Equal(t, []gitops.TargetPhase{gitops.TargetFailed, gitops.TargetHealthy, gitops.TargetHealthy}, f.phases())
	require.Equal(t, "v1/ConfigMap shop/settings exists and is not managed by Tidegate", f.status().Targets[0].Message)
}

func TestAGateHoldsUntilThePlanThatWasShownIsApproved(t *testing.T) {
	f := newFleet(t)
	var refusals []*error
	f.env.RegisterDelayedCallback(func() {
		require.Equal(t, gitops.PhaseWaiting, f.status().Phase)
		require.Empty(t, f.applied())
		refusals = append(refusals,
			f.update(workflows.UpdateApprove, workflows.Decision{Gate: "approval", PlanDigest: "another", By: "ann"}),
			f.update(workflows.UpdateApprove, workflows.Decision{Gate: "typo", PlanDigest: f.status().PlanDigest, By: "ann"}),
			f.update(workflows.UpdateApprove, workflows.Decision{Gate: "approval", PlanDigest: f.status().PlanDigest}),
			f.update(workflows.UpdateApprove, workflows.Decision{Gate: "approval", PlanDigest: f.status().PlanDigest, By: "ann"}),
		)
	}, time.Hour)
	require.Equal(t, gitops.PhaseHealthy, f.run(approval()).Phase)
	require.ErrorContains(t, *refusals[0], `the decision is for plan "another"`)
	require.ErrorContains(t, *refusals[1], "its gates are: approval")
	require.ErrorContains(t, *refusals[2], "needs a name")
	require.NoError(t, *refusals[3])
	require.Equal(t, []gitops.Phase{gitops.PhaseWaiting, gitops.PhaseApproved, gitops.PhaseProgressing, gitops.PhaseHealthy}, f.reported())
}

func TestASignalApprovesTooAndAWrongOneIsRecorded(t *testing.T) {
	f := newFleet(t)
	f.env.RegisterDelayedCallback(func() {
		f.env.SignalWorkflow(workflows.SignalApprove, workflows.Decision{Gate: "approval", PlanDigest: "guess", By: "bob"})
	}, time.Minute)
	f.env.RegisterDelayedCallback(func() {
		f.env.SignalWorkflow(workflows.SignalApprove, workflows.Decision{Gate: "approval", PlanDigest: f.status().PlanDigest, By: "bob"})
	}, 2*time.Minute)
	require.Equal(t, gitops.PhaseHealthy, f.run(approval()).Phase)
	decisions := f.status().Decisions
	require.Len(t, decisions, 2)
	require.False(t, decisions[0].Accepted)
	require.Contains(t, decisions[0].Refusal, "guess")
	require.True(t, decisions[1].Accepted)
}

func TestAnApprovalLapsesWhenThePlanHasChanged(t *testing.T) {
	f := newFleet(t)
	digest := "digest-1"
	f.plan = func(in activities.PlanInput) (gitops.PlanSummary, error) { return planOf(in.Target, digest), nil }
	approve := func() {
		f.update(workflows.UpdateApprove, workflows.Decision{Gate: "approval", PlanDigest: f.status().PlanDigest, By: "ann"})
	}
	f.env.RegisterDelayedCallback(func() { digest = "digest-2"; approve() }, time.Hour)
	f.env.RegisterDelayedCallback(func() {
		require.Equal(t, gitops.PhaseWaiting, f.status().Phase)
		require.Contains(t, f.status().Gates[0].Message, "it lapsed")
		require.Empty(t, f.applied())
		approve()
	}, 2*time.Hour)
	require.Equal(t, gitops.PhaseHealthy, f.run(approval()).Phase)
}

func TestARejectedReleaseEndsAtTheGate(t *testing.T) {
	f := newFleet(t)
	f.env.RegisterDelayedCallback(func() {
		f.update(workflows.UpdateReject, workflows.Decision{Gate: "approval", PlanDigest: f.status().PlanDigest, By: "ann", Reason: "not on a Friday"})
	}, time.Hour)
	result := f.run(approval())
	require.Equal(t, gitops.PhaseRejected, result.Phase)
	require.Equal(t, "gate approval was rejected by ann: not on a Friday", result.Message)
	require.Empty(t, f.applied())
}

func TestANewerReleaseEndsAWaitForHealth(t *testing.T) {
	f := newFleet(t)
	f.wait = func(ctx context.Context, _ activities.WaitInput) (activities.WaitResult, error) {
		<-ctx.Done()
		return activities.WaitResult{}, ctx.Err()
	}
	f.env.RegisterDelayedCallback(func() {
		f.env.SignalWorkflow(workflows.SignalSupersede, workflows.Stop{Reason: "release 4 is newer"})
	}, time.Second)
	result := f.run()
	require.Equal(t, gitops.PhaseSuperseded, result.Phase)
	require.Equal(t, "release 4 is newer", result.Message)
	require.Equal(t, []gitops.TargetPhase{gitops.TargetStopped, gitops.TargetStopped, gitops.TargetStopped}, f.phases())
	require.Len(t, f.applied(), 3, "the second wave was not begun")
}

func TestACancellationStopsAtTheGate(t *testing.T) {
	f := newFleet(t)
	f.env.RegisterDelayedCallback(f.env.CancelWorkflow, time.Hour)
	result := f.run(approval())
	require.Equal(t, gitops.PhaseAborted, result.Phase)
	require.Empty(t, f.applied())
	require.Contains(t, f.reported(), gitops.PhaseAborted, "the Delivery is told")
}

func TestAPruneAboveTheBudgetHoldsOnlyThePruneStep(t *testing.T) {
	f := newFleet(t)
	f.plan = func(in activities.PlanInput) (gitops.PlanSummary, error) {
		p := planOf(in.Target, "digest-1")
		p.Steps[1] = gitops.Step{Phase: gitops.Prune, Apply: 3}
		p.Prune, p.PruneNeedsApproval = 3, "3 of 5 objects would be deleted"
		return p, nil
	}
	f.env.RegisterDelayedCallback(func() {
		require.Len(t, f.applied(), 3, "what is not deleted is applied")
		require.Equal(t, []gitops.TargetPhase{gitops.TargetPruneGate, gitops.TargetPruneGate, gitops.TargetPruneGate}, f.phases())
		f.update(workflows.UpdateApprove, workflows.Decision{Gate: "prune", PlanDigest: f.status().PlanDigest, By: "ann"})
	}, time.Hour)
	require.Equal(t, gitops.PhaseHealthy, f.run().Phase)
	require.Len(t, f.applied(), 6)
}

func TestALostDeliveryIsStartedByTheReport(t *testing.T) {
	f := newFleet(t)
	f.env = newEnvironment()
	var region *activities.Region
	var keeper *activities.Keeper
	var courier *activities.Courier
	var letters []activities.Letter
	f.env.OnActivity(region.Plan, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.PlanInput) (gitops.PlanSummary, error) {
		return gitops.PlanSummary{Target: in.Target.Name, Digest: "same"}, nil
	})
	f.env.OnActivity(keeper.SaveRecord, mock.Anything, mock.Anything, mock.Anything).Return(nil)
	f.env.OnActivity(courier.Deliver, mock.Anything, mock.Anything).Return(func(_ context.Context, l []activities.Letter) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		letters = append(letters, l...)
		return nil
	})
	f.env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(errors.New("no such workflow"))
	require.Equal(t, gitops.PhaseHealthy, f.run().Phase)
	f.mu.Lock()
	defer f.mu.Unlock()
	require.Equal(t, "delivery/default/shop", letters[len(letters)-1].ID)
}
