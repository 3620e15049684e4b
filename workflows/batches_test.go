package workflows_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/workflows"
)

// staged is a fleet whose stage has a strategy: asia is the canary.
func staged(t *testing.T, s gitops.Strategy) *fleet {
	t.Helper()
	f := newFleet(t)
	s.Order = []string{"shop-asia"}
	f.change = func(in *workflows.RolloutInput) { in.Strategy = &s }
	return f
}

// breaks makes the second wave of some regions unhealthy.
func (f *fleet) breaks(regions ...string) {
	f.wait = func(_ context.Context, in activities.WaitInput) (activities.WaitResult, error) {
		if in.Step == 1 && slices.Contains(regions, in.Target.Region) {
			return activities.WaitResult{Health: gitops.Degraded, Issues: []gitops.ObjectIssue{{Object: "apps/Deployment shop/web", Message: "crashes"}}}, nil
		}
		return activities.WaitResult{Health: gitops.Healthy}, nil
	}
}

var canaryFirst = []gitops.Amount{{Count: 1}}

func TestTheNextBatchBeginsWhenTheOneBeforeIsHealthy(t *testing.T) {
	f := staged(t, gitops.Strategy{Batches: canaryFirst})
	result := f.run()
	require.Equal(t, gitops.PhaseHealthy, result.Phase)
	require.Equal(t, []string{"shop-asia", "shop-asia"}, f.applied()[:2])
	require.Len(t, f.applied(), 6)
	status := f.status()
	require.Equal(t, 2, status.Batches)
	require.Equal(t, "3 targets are healthy", status.Message)
}

func TestABadCanaryLeavesTheOthersAsTheyWere(t *testing.T) {
	f := staged(t, gitops.Strategy{Batches: canaryFirst})
	f.breaks("asia")
	result := f.run()
	require.Equal(t, gitops.PhaseFailed, result.Phase)
	require.Equal(t, "1 of 3 targets failed; 2 were left as they were", result.Message)
	require.Equal(t, []string{"shop-asia", "shop-asia"}, f.applied())
	require.Equal(t, []gitops.TargetPhase{gitops.TargetStopped, gitops.TargetStopped, gitops.TargetFailed}, f.phases())
	require.Contains(t, f.reported(), gitops.PhaseDegraded, "its Delivery hears of it at once")
}

func TestAStageThatContinuesGivesEveryTargetItsTurn(t *testing.T) {
	f := staged(t, gitops.Strategy{Batches: canaryFirst, OnFailure: gitops.Continue})
	f.breaks("asia")
	result := f.run()
	require.Equal(t, gitops.PhaseFailed, result.Phase)
	require.Equal(t, []gitops.TargetPhase{gitops.TargetHealthy, gitops.TargetHealthy, gitops.TargetFailed}, f.phases())
}

func TestFailuresWithinTheBudgetDoNotStopARelease(t *testing.T) {
	f := staged(t, gitops.Strategy{Batches: canaryFirst, FailureBudget: &gitops.Amount{Count: 1}})
	f.breaks("asia")
	result := f.run()
	require.Equal(t, gitops.PhaseHealthy, result.Phase)
	require.Equal(t, "2 of 3 targets are healthy, 1 failed, within the failure budget", result.Message)
	require.NotContains(t, f.reported(), gitops.PhaseDegraded)
	require.Equal(t, []gitops.TargetPhase{gitops.TargetHealthy, gitops.TargetHealthy, gitops.TargetFailed}, f.phases())
}

func TestUnreachableTargetsSpendTheBudgetToo(t *testing.T) {
	f := staged(t, gitops.Strategy{Batches: canaryFirst, FailureBudget: &gitops.Amount{Percent: 34}})
	f.breaks("asia")
	f.plan = func(in activities.PlanInput) (gitops.PlanSummary, error) {
		if in.Target.Region == "us" {
			return gitops.PlanSummary{Unreachable: "no answer"}, nil
		}
		return planOf(in.Target, "digest"), nil
	}
	result := f.run()
	require.Equal(t, gitops.PhaseFailed, result.Phase)
	require.Equal(t, "1 of 3 targets failed and 1 could not be reached, which is more than the failure budget of 34%; 1 were left as they were", result.Message)
}

func TestABatchSoaksBeforeTheNext(t *testing.T) {
	f := staged(t, gitops.Strategy{Batches: canaryFirst, Soak: time.Hour})
	f.soak = func(_ context.Context, in activities.SoakInput) (activities.WaitResult, error) {
		require.Equal(t, time.Hour, in.For)
		if in.Target.Region == "asia" {
			require.Equal(t, []string{"shop-asia", "shop-asia"}, f.applied(), "the others wait")
		}
		return activities.WaitResult{Health: gitops.Healthy}, nil
	}
	require.Equal(t, gitops.PhaseHealthy, f.run().Phase)
	soaking := false
	for _, report := range f.reports {
		for _, o := range report.Targets {
			soaking = soaking || o.Phase == gitops.TargetSoaking
		}
	}
	require.True(t, soaking, "its Delivery is told")
}

func TestHealthThatIsLostInTheSoakAndNotRegainedStopsTheRelease(t *testing.T) {
	f := staged(t, gitops.Strategy{Batches: canaryFirst, Soak: time.Hour})
	f.soak = func(context.Context, activities.SoakInput) (activities.WaitResult, error) {
		return activities.WaitResult{Health: gitops.Degraded, Issues: []gitops.ObjectIssue{{Object: "apps/Deployment shop/web", Message: "crashes"}}}, nil
	}
	result := f.run()
	require.Equal(t, gitops.PhaseFailed, result.Phase)
	require.Equal(t, []string{"shop-asia", "shop-asia"}, f.applied())
	require.Equal(t, "apps/Deployment shop/web: crashes", f.status().Targets[2].Message)
}

func TestASoakEndsAtOnceWhenTheRolloutIsToEnd(t *testing.T) {
	f := staged(t, gitops.Strategy{Soak: time.Hour})
	f.soak = func(ctx context.Context, _ activities.SoakInput) (activities.WaitResult, error) {
		f.env.SignalWorkflow(workflows.SignalSupersede, workflows.Stop{Reason: "release 4 is newer"})
		<-ctx.Done()
		return activities.WaitResult{}, ctx.Err()
	}
	result := f.run()
	require.Equal(t, gitops.PhaseSuperseded, result.Phase)
	require.Equal(t, []gitops.TargetPhase{gitops.TargetHealthy, gitops.TargetHealthy, gitops.TargetHealthy}, f.phases())
}

func TestNoMoreTargetsAreDeliveredToAtATimeThanAllowed(t *testing.T) {
	f := staged(t, gitops.Strategy{MaxParallel: 1})
	require.Equal(t, gitops.PhaseHealthy, f.run().Phase)
	require.Equal(t, []string{"shop-asia", "shop-asia", "shop-eu", "shop-eu", "shop-us", "shop-us"}, f.applied())
}

func TestAStageThatIsTooSlowFails(t *testing.T) {
	f := staged(t, gitops.Strategy{Deadline: time.Hour, MaxParallel: 1})
	strategy := f.change
	f.change = func(in *workflows.RolloutInput) {
		strategy(in)
		for i := range in.Targets {
			in.Targets[i].Target.SyncPolicy.Retry = &gitops.Retry{Limit: 1, Duration: 2 * time.Hour, Factor: 1, MaxDuration: 2 * time.Hour}
		}
	}
	f.breaks("eu")
	result := f.run()
	require.Equal(t, gitops.PhaseFailed, result.Phase)
	require.Equal(t, "the stage's deadline of 1h0m0s is over", result.Message)
	require.Equal(t, []gitops.TargetPhase{gitops.TargetFailed, gitops.TargetStopped, gitops.TargetHealthy}, f.phases())
}
