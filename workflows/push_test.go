package workflows_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/workflows"
)

// hub is what Git and the Deliveries do in a test of Push.
type hub struct {
	mu      sync.Mutex // activities run beside the test
	env     *testsuite.TestWorkflowEnvironment
	observe func(activities.ObserveInput) activities.ObserveResult
	asked   []activities.ObserveInput
	told    []string
	noted   []activities.NoteInput
}

func newHub() *hub {
	h := &hub{env: newEnvironment()}
	var source *activities.Source
	var courier *activities.Courier
	h.env.OnActivity(source.Observe, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.ObserveInput) (activities.ObserveResult, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.asked = append(h.asked, in)
		return h.observe(in), nil
	})
	h.env.OnActivity(courier.Deliver, mock.Anything, mock.Anything).Return(func(_ context.Context, letters []activities.Letter) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, l := range letters {
			h.told = append(h.told, l.ID)
		}
		return nil
	})
	h.env.OnActivity(source.Note, mock.Anything, mock.Anything).Return(func(_ context.Context, in activities.NoteInput) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.noted = append(h.noted, in)
		return nil
	})
	return h
}

func (h *hub) run(t *testing.T) workflows.PushResult {
	h.env.ExecuteWorkflow(workflows.Push, workflows.PushInput{Ref: gitops.Ref{Repository: "git.example.com/shop", Revision: "main"}})
	require.True(t, h.env.IsWorkflowCompleted())
	require.NoError(t, h.env.GetWorkflowError())
	var result workflows.PushResult
	require.NoError(t, h.env.GetWorkflowResult(&result))
	h.mu.Lock() // what the activities wrote is seen from here on
	defer h.mu.Unlock()
	return result
}

func (h *hub) hintAt(after time.Duration, hint workflows.Hint) {
	h.env.RegisterDelayedCallback(func() { h.env.SignalWorkflow(workflows.SignalHint, hint) }, after)
}

func TestAPushTellsTheDeliveriesThatReadWhatChanged(t *testing.T) {
	h := newHub()
	h.observe = func(activities.ObserveInput) activities.ObserveResult {
		return activities.ObserveResult{Commit: "c1", Sequence: 5, Moved: true, HintShown: true, Deliveries: []string{"default/a", "default/b"}, Affected: []string{"default/b"}}
	}
	h.hintAt(0, workflows.Hint{Commit: "c1", From: "github 1"})
	require.Equal(t, []string{"default/b"}, h.run(t).Deliveries)
	require.Equal(t, []string{"delivery/default/b"}, h.told)
	require.Equal(t, []string{"default/a", "default/b"}, h.noted[0].Deliveries, "who is not concerned is up to date too")
}

func TestAPushOutsideOfWhatIsReadTellsNobody(t *testing.T) {
	h := newHub()
	h.observe = func(activities.ObserveInput) activities.ObserveResult {
		return activities.ObserveResult{Commit: "c1", Moved: true, HintShown: true, Deliveries: []string{"default/a"}}
	}
	h.hintAt(0, workflows.Hint{Commit: "c1", From: "github 1"})
	require.Contains(t, h.run(t).Message, "nothing that a Delivery reads has changed")
	require.Empty(t, h.told)
}

func TestAHintedCommitThatGitDoesNotShowYetIsAskedForAgain(t *testing.T) {
	h := newHub()
	h.observe = func(activities.ObserveInput) activities.ObserveResult {
		shown := len(h.asked) >= 3
		return activities.ObserveResult{Commit: map[bool]string{true: "c2", false: "c1"}[shown], Moved: shown, HintShown: shown, Affected: map[bool][]string{true: {"default/a"}}[shown]}
	}
	h.hintAt(0, workflows.Hint{Commit: "c2", From: "github 1"})
	require.Equal(t, "c2", h.run(t).Commit)
	require.Len(t, h.asked, 3)
	require.Len(t, h.told, 1)
}

func TestAHintThatNeverComesTrueIsGivenUp(t *testing.T) {
	h := newHub()
	start := time.Time{}
	h.observe = func(activities.ObserveInput) activities.ObserveResult {
		return activities.ObserveResult{Commit: "c1"}
	}
	h.env.RegisterDelayedCallback(func() { start = h.env.Now() }, 0)
	h.hintAt(0, workflows.Hint{Commit: "invented", From: "github 1"})
	h.run(t)
	require.InDelta(t, 30, h.env.Now().Sub(start).Seconds(), 2)
	require.Less(t, len(h.asked), 10)
}

func TestADeliveryThatAsksIsToldEvenWhenNothingHasMoved(t *testing.T) {
	h := newHub()
	h.observe = func(in activities.ObserveInput) activities.ObserveResult {
		return activities.ObserveResult{Commit: "c1", HintShown: true, Deliveries: in.Wanted, Affected: in.Wanted}
	}
	h.hintAt(0, workflows.Hint{From: "delivery", For: "default/new"})
	h.run(t)
	require.Equal(t, []string{"delivery/default/new"}, h.told)
}
