package promotion_test

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

type decider func(promotion.State, promotion.Event) (promotion.State, []promotion.Command)

// world is everything around a Delivery, as its state machine may meet it: a
// Git server, a renderer, regions, Rollout workflows, people, a Temporal that
// reorders and repeats, and a model of what must hold (rules_test.go).
type world struct {
	t        *rapid.T
	decide   decider
	state    promotion.State
	clock    time.Time
	shape    shape
	specs    map[string]shape // by digest
	contents []int            // per ref, what its head renders to
	pushes   int
	render   *promotion.Command
	actors   []*actor
	inbox    []promotion.Event // in flight to the Delivery
	probing  map[string]bool
	down     map[string]bool
	rules    rules
	steps    int
}

func newWorld(t *rapid.T, decide decider) *world {
	w := &world{t: t, decide: decide, clock: time.Unix(1_700_000_000, 0).UTC(), specs: map[string]shape{}, contents: make([]int, 2), probing: map[string]bool{}, down: map[string]bool{}}
	w.rules = newRules(w)
	for i := range w.shape.gates {
		w.shape.gates[i] = rapid.SampledFrom(gateChoices).Draw(t, "gate")
	}
	spec := w.declare()
	w.state = promotion.New(spec)
	w.push(0, 1)
	return w
}

// tell gives the Delivery an event and carries out what it decides. What is
// costly to check is checked now and then.
func (w *world) tell(e promotion.Event) {
	w.steps++
	w.clock = w.clock.Add(time.Second)
	e.At = w.clock
	w.t.Logf("%s", eventLine(e))
	var next promotion.State
	var commands []promotion.Command
	if w.steps%16 == 0 {
		next, commands = w.decideTwice(e)
	} else {
		next, commands = w.decide(w.state, e)
	}
	w.rules.heard(e)
	w.state = next
	if w.steps%6 == 0 {
		w.state = w.continueAsNew(next)
	}
	for _, c := range commands {
		w.t.Logf("    %s", commandLine(c))
		w.rules.ordered(c)
		w.carryOut(c)
	}
	w.rules.hold()
}

// decideTwice holds that a decision is a function of its input, and leaves that
// as it was.
func (w *world) decideTwice(e promotion.Event) (promotion.State, []promotion.Command) {
	before := text(w.t, w.state)
	next, commands := w.decide(w.state, e)
	require.Equal(w.t, before, text(w.t, w.state), "a decision changed the state that it was given")
	again, same := w.decide(w.state, e)
	require.Equal(w.t, text(w.t, next), text(w.t, again), "the same event led to another state")
	require.Equal(w.t, commands, same, "the same event led to other commands")
	return next, commands
}

// continueAsNew is the way of a state through a payload.
func (w *world) continueAsNew(s promotion.State) promotion.State {
	before, err := json.Marshal(s)
	require.NoError(w.t, err)
	var after promotion.State
	require.NoError(w.t, json.Unmarshal(before, &after))
	require.Equal(w.t, string(before), text(w.t, after), "a state lost something on its way through continue-as-new")
	return after
}

func text(t require.TestingT, v any) string {
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

func (w *world) carryOut(c promotion.Command) {
	switch c.Kind {
	case promotion.Render:
		w.render = &c
	case promotion.StartRollout:
		w.actors = append(w.actors, newActor(w, c))
	case promotion.Grant:
		w.actor(c.Rollout).granted = true
	case promotion.Supersede:
		w.actor(c.Rollout).ask(gitops.PhaseSuperseded)
	case promotion.CloseRollout:
		w.actor(c.Rollout).ask(gitops.PhaseClosed)
	case promotion.Approve:
		w.actor(c.Rollout).approve(c.PlanDigest)
	case promotion.Probe:
		w.probing[c.Region] = true
	case promotion.Checkpoint:
	default:
		w.t.Fatalf("unknown command %q", c.Kind)
	}
}

func (w *world) actor(n int) *actor {
	i := slices.IndexFunc(w.actors, func(a *actor) bool { return a.Rollout == n })
	require.GreaterOrEqual(w.t, i, 0, "a command names rollout %d, which was never started", n)
	return w.actors[i]
}

// push moves a ref to a commit that renders to a content.
func (w *world) push(ref, content int) {
	w.pushes++
	w.contents[ref] = content
	r := refs[ref]
	w.tell(promotion.Event{Kind: promotion.HeadMoved, Ref: &r, Seq: int64(w.pushes), Commit: commit(w.pushes, content)})
}

func (w *world) declare() gitops.Delivery {
	spec := w.shape.spec()
	w.specs[spec.Digest] = w.shape
	return spec
}

// finishRender ends the render under way.
func (w *world) finishRender(ok bool) {
	c := *w.render
	w.render = nil
	if !ok {
		w.tell(promotion.Event{Kind: promotion.RenderFailed, Render: c.Render, Message: "kustomize: no such file"})
		return
	}
	w.tell(promotion.Event{Kind: promotion.Rendered, Render: c.Render, Sources: c.Sources, Bundles: w.specs[c.Spec].bundles(c.Sources)})
}

// deliver hands over one of the messages in flight.
func (w *world) deliver(i int, keep bool) {
	e := w.inbox[i]
	if !keep {
		w.inbox = slices.Delete(w.inbox, i, i+1)
	}
	w.tell(e)
}

// watch looks for rollouts that the Delivery believes to be open and that are
// closed.
func (w *world) watch() {
	for _, r := range w.state.OpenRollouts() {
		if a := w.actor(r.Number); a.ended {
			e := promotion.Event{Kind: promotion.RolloutGone, Stage: r.Stage, Rollout: r.Number, Phase: a.final}
			if a.final != "" {
				e.Targets = a.outcomes()
			}
			w.tell(e)
		}
	}
}

func (w *world) recover(region string) {
	delete(w.probing, region)
	w.tell(promotion.Event{Kind: promotion.RegionRecovered, Region: region})
}

func (w *world) live(where func(*actor) bool) []*actor {
	var live []*actor
	for _, a := range w.actors {
		if !a.ended && where(a) {
			live = append(live, a)
		}
	}
	return live
}
