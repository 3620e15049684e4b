package promotion_test

import (
	"flag"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// tick is one round of a busy day: a merge, its render, every message, and one
// step of every rollout. A rollout needs a number of steps to become healthy.
func (w *world) tick(content, steps int) {
	w.push(0, content)
	for w.render != nil {
		w.finishRender(true)
	}
	for len(w.inbox) > 0 {
		w.deliver(0, false)
	}
	for _, a := range w.live(func(*actor) bool { return true }) {
		a.step(temper{linger: int(a.seq) < steps})
	}
}

// TestMergesThatNeverPauseStillReachEveryStage merges faster than any rollout
// can finish.
func TestMergesThatNeverPauseStillReachEveryStage(t *testing.T) {
	fewer(t, func(t *rapid.T) {
		w := newWorld(t, promotion.Decide)
		w.shape.gates = [3]string{}
		spec := w.declare()
		w.tell(promotion.Event{Kind: promotion.SpecChanged, Spec: &spec})
		steps := rapid.IntRange(1, 5).Draw(t, "steps")
		for i := range 60 {
			w.tick(10+i, steps)
		}
		healthy := map[string]int{}
		for _, a := range w.actors {
			if a.final == gitops.PhaseHealthy {
				healthy[a.Stage]++
			}
		}
		require.GreaterOrEqual(t, healthy["canary"], 3)
		require.NotZero(t, healthy["west"])
		require.NotZero(t, healthy["prod"])
	})
}

// TestACandidateStaysApprovableWhileOthersAreMerged lets somebody look at the
// newest candidate for a while as merges go on, then approve it.
func TestACandidateStaysApprovableWhileOthersAreMerged(t *testing.T) {
	fewer(t, func(t *rapid.T) {
		w := newWorld(t, promotion.Decide)
		w.shape.gates = [3]string{"approval", "", ""}
		spec := w.declare()
		w.tell(promotion.Event{Kind: promotion.SpecChanged, Spec: &spec})
		n := 10
		merge := func(label string, least, most int) {
			for range rapid.IntRange(least, most).Draw(t, label) {
				n++
				w.tick(n, 2)
			}
		}
		merge("merges before", 3, 12)
		var chosen *actor
		for _, a := range w.live(func(a *actor) bool { return a.phase == gitops.PhaseWaiting }) {
			chosen = a
		}
		require.NotNil(t, chosen, "nothing waits")
		merge("merges while somebody looks", 0, 3)
		require.Empty(t, chosen.stop, "%s was closed while somebody looked at it", chosen)
		require.True(t, chosen.approve(chosen.digest))
		merge("merges after", 8, 14)
		require.Equal(t, chosen.Release, w.state.Stages[0].Current, "the approval was lost")
	})
}

// fewer checks a property a hundredth as often as others: its cases are long and
// much alike.
func fewer(t *testing.T, property func(*rapid.T)) {
	f := flag.Lookup("rapid.checks")
	before := f.Value.String()
	n, err := strconv.Atoi(before)
	require.NoError(t, err)
	require.NoError(t, f.Value.Set(strconv.Itoa(max(n/100, 10))))
	defer func() { require.NoError(t, f.Value.Set(before)) }()
	rapid.Check(t, property)
}
