package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/window"
	"github.com/tidegate/tidegate/workflows"
)

// quorum is a gate that two persons must open within a day of each other.
func quorum() gitops.Gate {
	return gitops.Gate{Name: "approval", Kind: gitops.GateApproval, Approvals: 2, Expires: 24 * time.Hour}
}

// officeHours is a gate that is open from nine to five.
func officeHours() gitops.Gate {
	return gitops.Gate{Name: "hours", Kind: gitops.GateWindow, Window: &gitops.WindowRule{
		Allow: []gitops.Window{{Schedule: "0 9 * * *", Duration: 8 * time.Hour, TimeZone: "UTC"}},
	}}
}

// at is a time of the day on which the test begins.
func at(hour int) time.Time { return time.Date(2026, 7, 1, hour, 0, 0, 0, time.UTC) }

// timed is a fleet whose clock begins at six in the morning.
func timed(t *testing.T) *fleet {
	t.Helper()
	f := newFleet(t)
	f.env.SetStartTime(at(6))
	var keeper *activities.Keeper
	f.env.OnActivity(keeper.WindowAt, mock.Anything, mock.Anything, mock.Anything).Return(func(_ context.Context, rule gitops.WindowRule, at time.Time) (window.Verdict, error) {
		return window.At(rule, at)
	})
	return f
}

// after does something once so much time has passed.
func (f *fleet) after(d time.Duration, do func()) { f.env.RegisterDelayedCallback(do, d) }

// approves has somebody approve the plan that is shown; the refusal is there later.
func (f *fleet) approves(by string) *error {
	return f.update(workflows.UpdateApprove, workflows.Decision{Gate: "approval", PlanDigest: f.status().PlanDigest, By: by})
}

func TestAGateThatTakesTwoPersonsOpensForTwo(t *testing.T) {
	f := timed(t)
	var again, signalled *error
	f.after(time.Hour, func() { f.approves("ann") })
	f.after(2*time.Hour, func() {
		gate := f.status().Gates[0]
		require.Equal(t, workflows.GateStateWaiting, gate.State)
		require.Equal(t, []string{"ann"}, gate.Approved)
		require.Contains(t, gate.Message, "has 1 of 2 approvals of plan")
		again = f.approves("ann")
		f.env.SignalWorkflow(workflows.SignalApprove, workflows.Decision{Gate: "approval", PlanDigest: f.status().PlanDigest, By: "bob"})
	})
	f.after(3*time.Hour, func() {
		require.Empty(t, f.applied())
		decisions := f.status().Decisions
		require.Contains(t, decisions[len(decisions)-1].Refusal, "a signal does not show who has sent it")
		signalled = f.approves("bob")
	})
	require.Equal(t, gitops.PhaseHealthy, f.run(quorum()).Phase)
	require.ErrorContains(t, *again, "ann has approved it before; gate approval takes 2 persons")
	require.NoError(t, *signalled)
	require.Equal(t, "ann, bob", f.status().Gates[0].By)
}

func TestAnApprovalThatIsTooOldDoesNotCount(t *testing.T) {
	f := timed(t)
	f.after(time.Hour, func() { f.approves("ann") })
	f.after(26*time.Hour, func() {
		require.Empty(t, f.status().Gates[0].Approved)
		require.Contains(t, f.status().Gates[0].Message, "the approval by ann has expired after 24h0m0s")
		f.approves("bob")
	})
	f.after(27*time.Hour, func() {
		require.Empty(t, f.applied(), "it is bob's alone")
		f.approves("ann")
	})
	require.Equal(t, gitops.PhaseHealthy, f.run(quorum()).Phase)
}

func TestARejectionNeedsOnePerson(t *testing.T) {
	f := timed(t)
	f.after(time.Hour, func() { f.approves("ann") })
	f.after(2*time.Hour, func() {
		f.update(workflows.UpdateReject, workflows.Decision{Gate: "approval", PlanDigest: f.status().PlanDigest, By: "ann", Reason: "I was wrong"})
	})
	result := f.run(quorum())
	require.Equal(t, gitops.PhaseRejected, result.Phase)
	require.Contains(t, result.Message, "I was wrong")
}

func TestAGateThatIsNotOpenInTimeClosesTheRollout(t *testing.T) {
	f := timed(t)
	gate := approval()
	gate.Deadline = 72 * time.Hour
	result := f.run(gate)
	require.Equal(t, gitops.PhaseClosed, result.Phase)
	require.Equal(t, "gate approval did not let it in within 72h0m0s", result.Message)
	require.Empty(t, f.applied())
}

func TestTheDeadlineOfAGateDoesNotCutWhatItHasLetIn(t *testing.T) {
	f := timed(t)
	gate := approval()
	gate.Deadline = 2 * time.Hour
	f.change = func(in *workflows.RolloutInput) {
		in.Strategy = &gitops.Strategy{Soak: time.Second}
		for i := range in.Targets {
			in.Targets[i].Target.SyncPolicy.Retry = &gitops.Retry{Limit: 1, Duration: 5 * time.Hour, Factor: 1, MaxDuration: 5 * time.Hour}
		}
	}
	first := true
	f.apply = func(activities.ApplyInput) (activities.StepResult, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if first {
			first = false
			return activities.StepResult{Failures: []gitops.ObjectIssue{{Object: "ConfigMap a", Message: "no"}}}, nil
		}
		return activities.StepResult{Applied: 1, Records: "records"}, nil
	}
	f.after(time.Hour, func() { f.approves("ann") })
	require.Equal(t, gitops.PhaseHealthy, f.run(gate).Phase)
}

func TestAWindowLetsAReleaseInWhenItOpens(t *testing.T) {
	f := timed(t)
	var refused *error
	f.after(time.Hour, func() {
		status := f.status()
		require.Equal(t, gitops.PhaseWaiting, status.Phase)
		require.Equal(t, "is closed until 2026-07-01 09:00:00 UTC: outside of its windows", status.Gates[0].Message)
		refused = f.update(workflows.UpdateApprove, workflows.Decision{Gate: "hours", PlanDigest: status.PlanDigest, By: "ann"})
	})
	f.after(3*time.Hour-time.Second, func() { require.Empty(t, f.applied()) })
	require.Equal(t, gitops.PhaseHealthy, f.run(officeHours()).Phase)
	require.ErrorContains(t, *refused, "gate hours opens by itself")
	require.WithinDuration(t, at(9), *f.status().Finished, time.Minute)
}

func TestAllGatesMustBeOpenAtTheSameTime(t *testing.T) {
	f := timed(t)
	f.after(12*time.Hour, func() { // at six in the evening the window is over
		require.Equal(t, workflows.GateStateWaiting, f.status().Gates[0].State)
		f.approves("ann")
	})
	f.after(20*time.Hour, func() {
		require.Empty(t, f.applied(), "the approval is there, the window is closed")
		require.Equal(t, workflows.GateStateOpen, f.status().Gates[1].State)
	})
	require.Equal(t, gitops.PhaseHealthy, f.run(officeHours(), approval()).Phase)
	require.WithinDuration(t, at(9).AddDate(0, 0, 1), *f.status().Finished, time.Minute)
}

func TestAWindowDoesNotCutWhatHasBegun(t *testing.T) {
	f := timed(t)
	f.change = func(in *workflows.RolloutInput) {
		for i := range in.Targets {
			in.Targets[i].Target.SyncPolicy.Retry = &gitops.Retry{Limit: 1, Duration: 12 * time.Hour, Factor: 1, MaxDuration: 12 * time.Hour}
		}
	}
	first := true
	f.apply = func(activities.ApplyInput) (activities.StepResult, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if first {
			first = false
			return activities.StepResult{Failures: []gitops.ObjectIssue{{Object: "ConfigMap a", Message: "no"}}}, nil
		}
		return activities.StepResult{Applied: 1, Records: "records"}, nil
	}
	require.Equal(t, gitops.PhaseHealthy, f.run(officeHours()).Phase)
	require.WithinDuration(t, at(21), *f.status().Finished, time.Minute)
}

func TestACandidateBehindAClosedWindowIsClosedForANewerOne(t *testing.T) {
	f := timed(t)
	f.after(time.Hour, func() {
		f.env.SignalWorkflow(workflows.SignalClose, workflows.Stop{Reason: "release 4 was chosen"})
	})
	result := f.run(officeHours())
	require.Equal(t, gitops.PhaseClosed, result.Phase)
	require.Equal(t, "release 4 was chosen", result.Message)
	require.Empty(t, f.applied())
}
