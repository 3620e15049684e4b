package watch_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/starter/api/apitest"
	"github.com/tidegate/tidegate/starter/client"
	"github.com/tidegate/tidegate/starter/flows"
	"github.com/tidegate/tidegate/starter/watch"
	"github.com/tidegate/tidegate/workflows"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	file := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o750))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
	for line := range strings.Lines(got) {
		require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), 80, line)
	}
}

// options watch a world, as fast as it goes.
func options(t *testing.T, w *apitest.World, out io.Writer) watch.Options {
	return watch.Options{Client: client.Client{Server: w.Serve(t)}, Out: out, Every: time.Millisecond, Now: apitest.Began}
}

// onWrite calls a function after each write with its number, from 1: the way in
// which a test moves its world between two looks.
type onWrite struct {
	text  strings.Builder
	count int
	then  func(count int)
}

func (o *onWrite) String() string { return o.text.String() }

func (o *onWrite) Write(p []byte) (int, error) {
	n, err := o.text.Write(p)
	o.count++
	if o.then != nil {
		o.then(o.count)
	}
	return n, err
}

// approved is rollout 5 with its targets at work.
func approved() workflows.RolloutStatus {
	r := apitest.Waiting()
	r.Phase, r.Message, r.Gates[0].State = gitops.PhaseProgressing, "", workflows.GateStateOpen
	r.Targets[0].Phase, r.Targets[0].Step, r.Targets[0].Wave = gitops.TargetWaiting, 1, "Sync wave 0"
	r.Targets[1].Phase, r.Targets[1].Wave = gitops.TargetApplying, "PreSync wave -1"
	return r
}

// ended is Shop when rollout 5 has ended.
func ended(phase gitops.Phase, message string) promotion.State {
	state := apitest.Shop()
	production := &state.Stages[2]
	r := production.Waiting[0]
	r.Phase, r.Message, r.Finished = phase, message, apitest.Began().Add(time.Minute)
	production.Waiting, state.Rollouts = nil, append(state.Rollouts, r)
	if phase == gitops.PhaseHealthy {
		production.Current = 2
		for i := range state.Targets {
			state.Targets[i].Release, state.Targets[i].Sync = 2, gitops.Synced
		}
	}
	if phase == gitops.PhaseFailed {
		production.Failed = 2
	}
	return state
}

func TestADeliveryIsFollowedToItsGateLineByLine(t *testing.T) {
	var out bytes.Buffer
	o := options(t, apitest.ShopWorld(), &out)
	o.UntilGate = true
	end, err := watch.Delivery(t.Context(), "default/shop", o)
	require.NoError(t, err)
	require.Equal(t, watch.End{Outcome: watch.AtGate, Message: "default/shop/production/5 waits at a gate"}, end)
	golden(t, "delivery-at-a-gate", out.String())
}

func TestADeliveryIsFollowedThroughItsGateUntilEveryStageIsHealthy(t *testing.T) {
	w := apitest.ShopWorld()
	out := &onWrite{then: func(count int) {
		switch count {
		case 1:
			w.SetRollout(approved())
		case 2:
			w.SetDelivery(ended(gitops.PhaseHealthy, "2 targets are healthy"))
		}
	}}
	o := options(t, w, out)
	o.Revision = apitest.NewCommit
	end, err := watch.Delivery(t.Context(), "default/shop", o)
	require.NoError(t, err)
	require.Equal(t, watch.End{Outcome: watch.Healthy, Message: "release 2 of default/shop is healthy in every stage"}, end)
	golden(t, "delivery-to-its-end", out.String())
}

func TestHowAReleaseEnds(t *testing.T) {
	for phase, want := range map[gitops.Phase]watch.Outcome{
		gitops.PhaseFailed: watch.Failed, gitops.PhaseRejected: watch.Stopped, gitops.PhaseSuperseded: watch.Stopped, gitops.PhaseAborted: watch.Stopped,
	} {
		w := apitest.New()
		w.Declare("default", "shop")
		w.SetDelivery(ended(phase, "because"))
		end, err := watch.Delivery(t.Context(), "default/shop", options(t, w, io.Discard))
		require.NoError(t, err)
		require.Equal(t, want, end.Outcome, phase)
		require.Equal(t, fmt.Sprintf("rollout default/shop/production/5 is %s: because", phase), end.Message)
	}
}

func TestARevisionIsWaitedForUntilItHasARelease(t *testing.T) {
	w := apitest.New()
	w.Declare("default", "shop")
	before := apitest.Shop()
	before.Releases, before.Rollouts, before.Stages = before.Releases[:1], nil, []promotion.StageState{{Name: "dev", Current: 1}}
	w.SetDelivery(before)
	out := &onWrite{then: func(int) { w.SetDelivery(ended(gitops.PhaseHealthy, "")) }}
	o := options(t, w, out)
	o.Revision = apitest.NewCommit[:7]
	end, err := watch.Delivery(t.Context(), "default/shop", o)
	require.NoError(t, err)
	require.Equal(t, watch.Healthy, end.Outcome)
	require.Contains(t, out.String(), "no release of 0f1e2d3 yet")
}

func TestARevisionMayBeTheOneThatDeclaresItsDelivery(t *testing.T) {
	w := apitest.New()
	out := &onWrite{then: func(int) {
		w.Declare("default", "shop")
		w.SetDelivery(ended(gitops.PhaseHealthy, ""))
	}}
	o := options(t, w, out)
	o.Revision = apitest.NewCommit
	end, err := watch.Delivery(t.Context(), "default/shop", o)
	require.NoError(t, err)
	require.Equal(t, watch.Healthy, end.Outcome)
	require.Contains(t, out.String(), "default/shop  is not declared yet")

	_, err = watch.Delivery(t.Context(), "default/shopp", options(t, w, io.Discard))
	require.ErrorContains(t, err, "there is no Delivery default/shopp", "without a revision nothing is waited for")
}

func TestARevisionThatDoesNotRenderEndsTheWatch(t *testing.T) {
	w := apitest.New()
	w.Declare("default", "shop")
	broken := apitest.Shop()
	broken.Releases = broken.Releases[:1]
	broken.Rollouts, broken.Stages = nil, []promotion.StageState{{Name: "dev", Current: 1}}
	broken.Render = promotion.RenderState{Number: 2, Error: "no such file", Sources: []gitops.ResolvedSource{{Commit: apitest.NewCommit}}}
	broken.Conditions = []promotion.Condition{{Kind: promotion.RenderBroken, Message: "no such file"}}
	w.SetDelivery(broken)
	o := options(t, w, io.Discard)
	o.Revision = apitest.NewCommit[:7]
	end, err := watch.Delivery(t.Context(), "default/shop", o)
	require.NoError(t, err)
	require.Equal(t, watch.End{Outcome: watch.Failed, Message: "default/shop has no release of 0f1e2d3: no such file"}, end)
}

func TestARolloutThatHasJustBeenStartedIsWaitedFor(t *testing.T) {
	w := apitest.New()
	w.Declare("default", "shop")
	w.SetDelivery(apitest.Shop()) // rollout 5 does not answer yet
	out := &onWrite{then: func(int) { w.SetRollout(apitest.Waiting()) }}
	o := options(t, w, out)
	o.UntilGate = true
	end, err := watch.Delivery(t.Context(), "default/shop", o)
	require.NoError(t, err)
	require.Equal(t, watch.AtGate, end.Outcome)
}

func TestARolloutIsFollowedToItsEnd(t *testing.T) {
	w := apitest.ShopWorld()
	w.SetRollout(approved())
	out := &onWrite{then: func(count int) {
		r := approved()
		finished := apitest.Began().Add(time.Minute)
		r.Phase, r.Message, r.Finished = gitops.PhaseFailed, "1 of 2 targets failed", &finished
		r.Targets[0].Phase, r.Targets[0].Health = gitops.TargetHealthy, gitops.Healthy
		r.Targets[1].Phase, r.Targets[1].Health = gitops.TargetFailed, gitops.Degraded
		r.Targets[1].Message = "apps/Deployment shop/frontend: pod frontend-1: ImagePullBackOff"
		w.SetRollout(r)
	}}
	id := client.RolloutID{Delivery: "default/shop", Stage: "production", Number: 5}
	end, err := watch.Rollout(t.Context(), id, options(t, w, out))
	require.NoError(t, err)
	require.Equal(t, watch.End{Outcome: watch.Failed, Message: "default/shop/production/5 is Failed: 1 of 2 targets failed"}, end)
	golden(t, "rollout-that-fails", out.String())
}

func TestAPruneGateIsAGateToo(t *testing.T) {
	r := approved()
	require.False(t, watch.WaitsAtGate(r))
	r.Targets[1].Phase = gitops.TargetPruneGate
	require.True(t, watch.WaitsAtGate(r))
}

func TestAServerThatIsRestartedIsWaitedForOneThatNeverWasIsNot(t *testing.T) {
	w := apitest.ShopWorld()
	w.SetRollout(approved())
	id := client.RolloutID{Delivery: "default/shop", Stage: "production", Number: 5}
	workflow := workflows.RolloutID(id.Delivery, id.Stage, id.Number)
	out := &onWrite{then: func(count int) {
		if count == 1 {
			w.Set(workflow, workflows.QueryStatus, fmt.Errorf("x: %w", flows.ErrUnavailable))
		}
	}}
	o := options(t, w, out)
	looks := 0
	o.Now = func() time.Time { // after some failed looks the server is back
		if looks++; looks == 10 {
			r := approved()
			r.Phase = gitops.PhaseHealthy
			w.SetRollout(r)
		}
		return apitest.Began()
	}
	end, err := watch.Rollout(t.Context(), id, o)
	require.NoError(t, err)
	require.Equal(t, watch.Healthy, end.Outcome)

	o.Client.Server = "http://127.0.0.1:1"
	_, err = watch.Rollout(t.Context(), id, o)
	require.ErrorIs(t, err, client.ErrNoServer)
	require.ErrorContains(t, err, "start it with `tidegate serve`, or `make up`")
}

func TestPatienceEnds(t *testing.T) {
	w := apitest.ShopWorld()
	w.SetRollout(approved())
	id := client.RolloutID{Delivery: "default/shop", Stage: "production", Number: 5}
	out := &onWrite{then: func(int) {
		w.Set(workflows.RolloutID(id.Delivery, id.Stage, id.Number), workflows.QueryStatus, fmt.Errorf("x: %w", flows.ErrUnavailable))
	}}
	o := options(t, w, out)
	now := apitest.Began()
	o.Now = func() time.Time { now = now.Add(20 * time.Second); return now }
	_, err := watch.Rollout(t.Context(), id, o)
	require.True(t, client.Is(err, 503), err)
}

func TestAWriterThatIsGoneEndsTheWatch(t *testing.T) {
	_, err := watch.Delivery(t.Context(), "default/shop", options(t, apitest.ShopWorld(), closed{}))
	require.ErrorIs(t, err, errClosed)
}

type closed struct{}

var errClosed = errors.New("closed")

func (closed) Write([]byte) (int, error) { return 0, errClosed }

func TestOnATerminalTheTableIsDrawnInPlace(t *testing.T) {
	w := apitest.ShopWorld()
	w.SetRollout(approved())
	out := &onWrite{then: func(int) { w.SetDelivery(ended(gitops.PhaseHealthy, "")) }}
	o := options(t, w, out)
	o.Size = func() (int, int) { return 80, 24 }
	_, err := watch.Delivery(t.Context(), "default/shop", o)
	require.NoError(t, err)
	require.Contains(t, out.String(), "\x1b[7A", "the second drawing begins where the first did")
	plain := strings.NewReplacer("\x1b[7A", "<up 7>\n", "\x1b[K", "", "\x1b[J", "<clear>\n").Replace(out.String())
	golden(t, "terminal", plain)
}
