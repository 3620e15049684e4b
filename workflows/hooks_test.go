package workflows_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/workflows"
)

// withHooks is a plan of four steps: the first and the last two are hooks.
func withHooks(in activities.PlanInput) (gitops.PlanSummary, error) {
	hook := func(phase gitops.StepPhase) gitops.Step {
		return gitops.Step{Phase: phase, Apply: 1, Wait: 1, Hooks: 1}
	}
	return gitops.PlanSummary{
		Target: in.Target.Name, Region: in.Target.Region, Digest: "digest-1", Artifact: "plan", Apply: 1, Hooks: 3,
		Steps: []gitops.Step{hook(gitops.PreSync), {Phase: gitops.Sync, Apply: 1, Wait: 1}, hook(gitops.PostSync), hook(gitops.SyncFail)},
	}, nil
}

// hookFleet is a fleet whose plans have hooks; steps are those that eu has applied.
func hookFleet(t *testing.T) (f *fleet, steps *[]int) {
	f = newFleet(t)
	f.plan = withHooks
	steps = &[]int{}
	f.apply = func(in activities.ApplyInput) (activities.StepResult, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if in.Target.Region == "eu" {
			*steps = append(*steps, in.Step)
		}
		return activities.StepResult{Applied: 1, Records: "records"}, nil
	}
	return f, steps
}

func TestHooksOfASyncThatFailsDoNotRunWhenItSucceeds(t *testing.T) {
	f, steps := hookFleet(t)
	require.Equal(t, gitops.PhaseHealthy, f.run().Phase)
	require.Equal(t, []int{0, 1, 2}, *steps)
	require.Len(t, f.ended, 3, "the hooks of each target are ended once")
	require.True(t, f.ended[0].Delivered)
}

func TestWhenASyncFailsItsSyncFailHooksRunAndTheHooksAreEnded(t *testing.T) {
	f, steps := hookFleet(t)
	f.wait = func(_ context.Context, in activities.WaitInput) (activities.WaitResult, error) {
		if in.Step == 1 && in.Target.Region == "eu" {
			return activities.WaitResult{Health: gitops.Degraded, Issues: []gitops.ObjectIssue{{Object: "apps/Deployment shop/web", Message: "crashes"}}}, nil
		}
		return activities.WaitResult{Health: gitops.Healthy}, nil
	}
	require.Equal(t, gitops.PhaseFailed, f.run().Phase)
	require.Equal(t, []int{0, 1, 3}, *steps)
	require.Len(t, f.ended, 3)
	for _, in := range f.ended {
		require.Equal(t, in.Target.Region != "eu", in.Delivered, in.Target.Region)
	}
	status := f.status().Targets[0]
	require.Equal(t, "apps/Deployment shop/web: crashes", status.Message)
	require.Equal(t, "Sync wave 0", status.Wave, "where it failed, not what followed")
}

// hangs waits until it is canceled, in eu's first step.
func hangs(ctx context.Context, in activities.WaitInput) (activities.WaitResult, error) {
	if in.Target.Region == "eu" && in.Step == 0 {
		<-ctx.Done()
		return activities.WaitResult{}, ctx.Err()
	}
	return activities.WaitResult{Health: gitops.Healthy}, nil
}

func TestAHookAtWorkIsLetToEndWhenANewerReleaseComes(t *testing.T) {
	f, steps := hookFleet(t)
	yielded := false
	f.wait = func(ctx context.Context, in activities.WaitInput) (activities.WaitResult, error) {
		if in.Yield {
			yielded = true
			return activities.WaitResult{Health: gitops.Healthy}, nil
		}
		return hangs(ctx, in)
	}
	f.env.RegisterDelayedCallback(func() {
		f.env.SignalWorkflow(workflows.SignalSupersede, workflows.Stop{Reason: "release 8 is newer"})
	}, time.Second)
	result := f.run()
	require.True(t, yielded)
	require.Equal(t, gitops.PhaseSuperseded, result.Phase)
	require.Equal(t, []int{0}, *steps)
	require.Equal(t, "stopped before Sync wave 0", f.status().Targets[0].Message)
	require.False(t, f.ended[len(f.ended)-1].Delivered)
}

func TestAHookThatDoesNothingIsLeftWhenANewerReleaseComes(t *testing.T) {
	f, _ := hookFleet(t)
	f.wait = func(ctx context.Context, in activities.WaitInput) (activities.WaitResult, error) {
		if in.Yield {
			return activities.WaitResult{Health: gitops.Progressing}, nil
		}
		return hangs(ctx, in)
	}
	f.env.RegisterDelayedCallback(func() {
		f.env.SignalWorkflow(workflows.SignalSupersede, workflows.Stop{Reason: "release 8 is newer"})
	}, time.Second)
	f.run()
	require.Equal(t, "left while PreSync wave 0 was not healthy", f.status().Targets[0].Message)
	require.Len(t, f.ended, 3)
}

func TestAnAbortedRolloutDoesNotWaitForAHookAtWork(t *testing.T) {
	f, _ := hookFleet(t)
	f.wait = func(ctx context.Context, in activities.WaitInput) (activities.WaitResult, error) {
		if in.Yield {
			<-ctx.Done()
			return activities.WaitResult{}, ctx.Err()
		}
		return hangs(ctx, in)
	}
	f.env.RegisterDelayedCallback(func() {
		f.env.SignalWorkflow(workflows.SignalSupersede, workflows.Stop{Reason: "release 8 is newer"})
	}, time.Second)
	f.env.RegisterDelayedCallback(f.env.CancelWorkflow, 1500*time.Millisecond)
	f.run()
	require.Equal(t, gitops.TargetStopped, f.phases()[0])
	require.Len(t, f.ended, 3)
}

func retried(in *workflows.RolloutInput) {
	for i := range in.Targets {
		in.Targets[i].Target.SyncPolicy.Retry = &gitops.Retry{Limit: 2, Duration: 5 * time.Second, Factor: 2, MaxDuration: time.Minute}
	}
}

func TestASyncThatFailsIsTriedAgainAsOftenAsItsPolicySays(t *testing.T) {
	f, steps := hookFleet(t)
	f.change = retried
	failing := func(_ context.Context, in activities.WaitInput) (activities.WaitResult, error) {
		if in.Step == 1 && in.Target.Region == "eu" {
			return activities.WaitResult{Health: gitops.Degraded, Issues: []gitops.ObjectIssue{{Object: "apps/Deployment shop/web", Message: "crashes"}}}, nil
		}
		return activities.WaitResult{Health: gitops.Healthy}, nil
	}
	f.wait = failing
	started := f.env.Now()
	require.Equal(t, gitops.PhaseFailed, f.run().Phase)
	require.Equal(t, []int{0, 1, 0, 1, 0, 1, 3}, *steps, "the SyncFail hooks run when all has failed")
	require.Equal(t, 15*time.Second, f.env.Now().Sub(started).Truncate(time.Second), "5 s, then 10 s")
	var retries []int
	for _, in := range f.ended {
		if in.Target.Region == "eu" {
			retries = append(retries, in.Rollout.Retry)
		}
	}
	require.Equal(t, []int{0, 1, 2}, retries)
}

func TestARetryThatSucceedsMakesTheRolloutHealthy(t *testing.T) {
	f, _ := hookFleet(t)
	f.change = retried
	f.wait = func(_ context.Context, in activities.WaitInput) (activities.WaitResult, error) {
		if in.Rollout.Retry == 0 && in.Target.Region == "eu" {
			return activities.WaitResult{Health: gitops.Degraded}, nil
		}
		return activities.WaitResult{Health: gitops.Healthy}, nil
	}
	require.Equal(t, gitops.PhaseHealthy, f.run().Phase)
	require.Empty(t, f.status().Targets[0].Message)
}

func TestARetryDoesNotCarryOutWhatNobodyHasApproved(t *testing.T) {
	f, _ := hookFleet(t)
	f.change = retried
	f.plan = func(in activities.PlanInput) (gitops.PlanSummary, error) {
		plan, err := withHooks(in)
		plan.Digest = fmt.Sprintf("digest-%d", in.Rollout.Retry)
		return plan, err
	}
	f.wait = func(_ context.Context, in activities.WaitInput) (activities.WaitResult, error) {
		return activities.WaitResult{Health: gitops.Degraded}, nil
	}
	f.env.RegisterDelayedCallback(func() {
		f.update(workflows.UpdateApprove, workflows.Decision{Gate: "approval", PlanDigest: f.status().PlanDigest, By: "ann"})
	}, time.Hour)
	require.Equal(t, gitops.PhaseFailed, f.run(approval()).Phase)
	require.Contains(t, f.status().Targets[0].Message, "the plan is no longer the one that was approved")
}

func TestANewerReleaseEndsThePauseBeforeARetry(t *testing.T) {
	f, _ := hookFleet(t)
	f.change = func(in *workflows.RolloutInput) {
		retried(in)
		for i := range in.Targets {
			in.Targets[i].Target.SyncPolicy.Retry.Duration = time.Hour
			in.Targets[i].Target.SyncPolicy.Retry.MaxDuration = time.Hour
		}
	}
	f.wait = func(_ context.Context, in activities.WaitInput) (activities.WaitResult, error) {
		return activities.WaitResult{Health: gitops.Degraded}, nil
	}
	f.env.RegisterDelayedCallback(func() {
		require.Contains(t, f.status().Targets[0].Message, "attempt 1 has failed: not healthy; the next one is at ")
		f.env.SignalWorkflow(workflows.SignalSupersede, workflows.Stop{Reason: "release 8 is newer"})
	}, time.Minute)
	f.run()
	require.Equal(t, gitops.TargetFailed, f.phases()[0])
}

func TestAPersonAbortsARolloutThatWaitsForHealth(t *testing.T) {
	f, steps := hookFleet(t)
	f.wait = func(ctx context.Context, in activities.WaitInput) (activities.WaitResult, error) {
		if in.Yield {
			<-ctx.Done()
			return activities.WaitResult{}, ctx.Err()
		}
		return hangs(ctx, in)
	}
	f.env.RegisterDelayedCallback(func() {
		f.env.UpdateWorkflow(workflows.UpdateAbort, "", &testsuite.TestUpdateCallback{OnReject: func(err error) { t.Error(err) }, OnAccept: func() {}, OnComplete: func(any, error) {}}, workflows.Abort{By: "ann", Reason: "wrong database"})
	}, time.Second)
	result := f.run()
	require.Equal(t, gitops.PhaseAborted, result.Phase)
	require.Equal(t, "aborted by ann: wrong database", result.Message)
	require.Equal(t, []int{0}, *steps)
	require.Len(t, f.ended, 3, "its hooks are ended")
}

func TestAnAbortSaysWhoAborts(t *testing.T) {
	f, _ := hookFleet(t)
	f.wait = func(ctx context.Context, in activities.WaitInput) (activities.WaitResult, error) {
		if in.Yield || in.Target.Region != "eu" {
			return activities.WaitResult{Health: gitops.Healthy}, nil
		}
		return hangs(ctx, in)
	}
	var refusal error
	f.env.RegisterDelayedCallback(func() {
		f.env.UpdateWorkflow(workflows.UpdateAbort, "", &testsuite.TestUpdateCallback{OnReject: func(err error) { refusal = err }, OnAccept: func() {}, OnComplete: func(any, error) {}}, workflows.Abort{})
		f.env.SignalWorkflow(workflows.SignalSupersede, workflows.Stop{Reason: "release 8 is newer"})
	}, time.Second)
	f.run()
	require.ErrorContains(t, refusal, "say who aborts")
}
