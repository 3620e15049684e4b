package promotion_test

import (
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata")

// TestMain makes every property run 10 000 interleavings unless -rapid.checks
// says otherwise; -short runs a fifth.
func TestMain(m *testing.M) {
	flag.Parse()
	chosen := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { chosen[f.Name] = true })
	// A build that fails must fail again, so the cases are the same each time;
	// -rapid.seed=0 (make model SEED=0) takes others.
	for name, value := range map[string]string{"rapid.checks": "10000", "rapid.seed": "20261"} {
		if !chosen[name] {
			if err := flag.Set(name, value); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}

// tally counts what a run of a property went through, to show that it was worth
// something.
type tally struct{ cases, events, rollouts, healthy, superseded, catchUps, releases int }

func (n *tally) add(w *world) {
	n.cases++
	n.events += w.steps
	n.rollouts += len(w.actors)
	n.releases += w.state.NextRelease - 1
	for _, a := range w.actors {
		switch a.final {
		case gitops.PhaseSuperseded:
			n.superseded++
		case gitops.PhaseHealthy:
			n.healthy++
		}
		if a.CatchUp {
			n.catchUps++
		}
	}
}

func (n *tally) log(t *testing.T) {
	t.Logf("%d interleavings, %d events, %d releases, %d rollouts: %d healthy, %d superseded, %d catch-ups",
		n.cases, n.events, n.releases, n.rollouts, n.healthy, n.superseded, n.catchUps)
}

// TestEveryInterleavingIsSafeAndEndsDelivered drives the state machine through
// anything that may happen, checks the rules at every instant, then lets the
// world calm down and expects the newest release everywhere.
func TestEveryInterleavingIsSafeAndEndsDelivered(t *testing.T) {
	var n tally
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, promotion.Decide)
		t.Repeat(w.actions())
		w.calmDown(rapid.Bool().Draw(t, "ends with a push"))
		n.add(w)
	})
	n.log(t)
}

// actions are the ways in which the world moves. Some are listed twice, so that
// they happen more often.
func (w *world) actions() map[string]func(*rapid.T) {
	step := func(t *rapid.T) {
		live := w.live(func(*actor) bool { return true })
		if len(live) == 0 || !pick(t, "rollout", live).step(drawTemper(t)) {
			t.Skip("no rollout can move")
		}
	}
	deliver := func(t *rapid.T) {
		if len(w.inbox) == 0 {
			t.Skip("nothing is in flight")
		}
		w.deliver(rapid.IntRange(0, min(2, len(w.inbox)-1)).Draw(t, "message"), rapid.IntRange(0, 4).Draw(t, "repeat") == 4)
	}
	return map[string]func(*rapid.T){
		"step": step, "step more": step, "step on": step, "deliver": deliver, "deliver more": deliver, "deliver on": deliver,
		"push":    func(t *rapid.T) { w.push(rapid.IntRange(0, 1).Draw(t, "ref"), rapid.IntRange(0, 3).Draw(t, "content")) },
		"render":  w.drawRender,
		"render2": w.drawRender,
		"decide":  w.drawDecision,
		"decide2": w.drawDecision,
		"kill":    w.drawKill,
		"watch":   func(*rapid.T) { w.watch() },
		"sync": func(t *rapid.T) {
			w.tell(promotion.Event{Kind: promotion.SyncRequested, By: "ada", Names: drawNames(t)})
		},
		"sync some": func(t *rapid.T) {
			scope := rapid.SampledFrom([]gitops.SyncScope{{Prune: true}, {Resources: []string{"apps:Deployment:web"}}}).Draw(t, "scope")
			w.tell(promotion.Event{Kind: promotion.SyncRequested, By: "ada", Names: drawNames(t), Scope: &scope})
		},
		"reopen": w.drawReopen,
		"back":   w.drawRollback,
		"abandon": func(t *rapid.T) {
			if len(w.state.Leaving) == 0 {
				t.Skip("nothing leaves")
			}
			w.tell(promotion.Event{Kind: promotion.DeletionAbandoned, By: "ada", Names: []string{pick(t, "target", w.state.Leaving).Target.Name}})
		},
		"region": w.drawRegion,
		"spec":   w.drawSpec,
		"noise":  w.drawNoise,
	}
}

func pick[T any](t *rapid.T, label string, from []T) T {
	return from[rapid.IntRange(0, len(from)-1).Draw(t, label)]
}

func drawNames(t *rapid.T) []string {
	return rapid.SampledFrom([][]string{nil, nil, {"w1"}, {"p2"}}).Draw(t, "names")
}

func (w *world) drawRender(t *rapid.T) {
	if w.render == nil {
		t.Skip("no render is under way")
	}
	w.finishRender(rapid.IntRange(0, 5).Draw(t, "render ends") != 5)
}

func (w *world) drawDecision(t *rapid.T) {
	waiting := w.live(func(a *actor) bool { return a.phase == gitops.PhaseWaiting && a.approved == "" && a.stop == "" })
	if len(waiting) == 0 {
		t.Skip("nothing waits")
	}
	a := pick(t, "candidate", waiting)
	if rapid.IntRange(0, 4).Draw(t, "verdict") == 4 {
		a.end(gitops.PhaseRejected)
		return
	}
	a.approve(a.digest)
}

func (w *world) drawKill(t *rapid.T) {
	live := w.live(func(*actor) bool { return true })
	if len(live) == 0 || rapid.IntRange(0, 2).Draw(t, "kill") != 2 {
		t.Skip("nobody is killed")
	}
	pick(t, "victim", live).ended = true
}

func (w *world) drawReopen(t *rapid.T) {
	if len(w.state.Rollouts) == 0 {
		t.Skip("nothing has ended")
	}
	r := pick(t, "ended", w.state.Rollouts)
	w.tell(promotion.Event{Kind: promotion.ReopenRequested, Stage: r.Stage, Release: r.Release, By: "ada"})
}

func (w *world) drawRollback(t *rapid.T) {
	stage := pick(t, "stage", w.state.Spec.Stages).Name
	var back []int
	for _, r := range w.state.Releases {
		if w.state.CheckRollback(stage, r.Number) == nil {
			back = append(back, r.Number)
		}
	}
	if len(back) == 0 {
		t.Skip("there is nothing to go back to")
	}
	w.tell(promotion.Event{Kind: promotion.RollbackRequested, Stage: stage, Release: pick(t, "release", back), By: "ada", Message: "it is slow"})
}

func (w *world) drawRegion(t *rapid.T) {
	if len(w.probing) > 0 && rapid.Bool().Draw(t, "recovers") {
		regions := slices.Sorted(func(yield func(string) bool) {
			for r := range w.probing {
				if !yield(r) {
					return
				}
			}
		})
		region := pick(t, "region", regions)
		delete(w.down, region)
		w.recover(region)
		return
	}
	target := pick(t, "target", w.state.Spec.Targets)
	w.down[target.Region] = rapid.Bool().Draw(t, "down")
}

func (w *world) drawSpec(t *rapid.T) {
	s := &w.shape
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0:
		s.gates[rapid.IntRange(0, 2).Draw(t, "stage")] = rapid.SampledFrom(gateChoices).Draw(t, "gate")
	case 1:
		s.extra = !s.extra
	case 2:
		s.short = !s.short
	case 3:
		s.borrowed = !s.borrowed
	case 4:
		s.elsewhere = !s.elsewhere
	case 5:
		s.revision++
	}
	spec := w.declare()
	w.tell(promotion.Event{Kind: promotion.SpecChanged, Spec: &spec})
}

// drawNoise tells the Delivery what makes no sense.
func (w *world) drawNoise(t *rapid.T) {
	kinds := []promotion.EventKind{
		promotion.SpecChanged, promotion.HeadMoved, promotion.HeadMissing, promotion.Rendered, promotion.RenderFailed,
		promotion.RolloutReported, promotion.RolloutGone, promotion.ReopenRequested, promotion.RegionRecovered, "Unheard", "",
	}
	before := w.state
	w.tell(promotion.Event{Kind: pick(t, "kind", kinds), Stage: pick(t, "stage", []string{"", "west", "moon"}), Rollout: -1, Release: 999, Render: -1, Phase: gitops.PhaseHealthy})
	require.True(t, cmp.Equal(before, w.state, cmpopts.EquateEmpty()), "nonsense changed the state")
}
