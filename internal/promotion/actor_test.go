package promotion_test

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// actor is a Rollout workflow as far as its Delivery can tell. Its embedded
// command is what started it.
type actor struct {
	promotion.Command
	world    *world
	phase    gitops.Phase
	granted  bool
	digest   string
	approved string
	lapses   int
	newest   int          // release when it started
	stop     gitops.Phase // what it was asked to end as
	seq      int64
	targets  []promotion.TargetOutcome
	regions  map[string]string // of its targets, as they were when it started
	ended    bool
	final    gitops.Phase // "" when it was terminated
}

func newActor(w *world, c promotion.Command) *actor {
	a := &actor{world: w, Command: c, phase: gitops.PhasePlanning, granted: c.Granted, newest: w.state.Newest(), digest: fmt.Sprintf("plan-%d", c.Release), regions: map[string]string{}}
	for _, name := range c.Targets {
		t, _ := w.state.Spec.Target(name)
		a.regions[name] = t.Region
	}
	for _, l := range w.state.Leaving {
		if c.Delete {
			a.regions[l.Target.Name] = l.Target.Region
		}
	}
	return a
}

func (a *actor) String() string {
	return fmt.Sprintf("rollout %d (release %d into %s, %s)", a.Rollout, a.Release, a.Stage, a.phase)
}

func (a *actor) ask(phase gitops.Phase) {
	if a.stop == "" {
		a.stop = phase
	}
}

func (a *actor) approve(digest string) bool {
	if a.ended || a.phase != gitops.PhaseWaiting || digest != a.digest {
		return false
	}
	a.approved = digest
	return true
}

func (a *actor) outcomes() []promotion.TargetOutcome { return slices.Clone(a.targets) }

func (a *actor) report(phase gitops.Phase) {
	a.phase = phase
	a.seq++
	a.world.inbox = append(a.world.inbox, promotion.Event{
		Kind: promotion.RolloutReported, Stage: a.Stage, Rollout: a.Rollout, Seq: a.seq,
		Phase: phase, PlanDigest: a.digest, Targets: a.outcomes(),
	})
}

func (a *actor) end(phase gitops.Phase) {
	a.ended, a.final = true, phase
	a.report(phase)
}

// temper is how an actor fares at one step.
type temper struct {
	lapse, linger, prune, soak bool
}

var calm = temper{}

func drawTemper(t *rapid.T) temper {
	return temper{
		lapse:  rapid.IntRange(0, 3).Draw(t, "lapse") == 3,
		linger: rapid.IntRange(0, 2).Draw(t, "linger") == 2,
		prune:  rapid.IntRange(0, 5).Draw(t, "prune") == 5,
		soak:   rapid.IntRange(0, 5).Draw(t, "soak") == 5,
	}
}

// step goes on by one step; it is false when there is nothing to do.
func (a *actor) step(how temper) bool {
	switch {
	case a.ended:
		return false
	case a.stop != "" && a.phase != gitops.PhaseDegraded:
		a.stopped()
		a.end(a.stop)
		return true
	}
	switch a.phase {
	case gitops.PhasePlanning:
		a.planned()
	case gitops.PhaseWaiting:
		if a.approved != a.digest {
			return false
		}
		a.report(gitops.PhaseApproved)
	case gitops.PhaseApproved:
		return a.enter(how)
	case gitops.PhaseProgressing:
		a.progress(how)
	case gitops.PhaseDegraded:
		a.end(gitops.PhaseFailed)
	}
	return true
}

func (a *actor) planned() {
	if len(a.Gates) == 0 {
		a.begin()
		return
	}
	a.report(gitops.PhaseWaiting)
}

// enter makes the plan anew after the lock was given, and loses the approval
// when it differs.
func (a *actor) enter(how temper) bool {
	if !a.granted {
		return false
	}
	if how.lapse && a.lapses < 2 {
		a.lapses++
		a.granted, a.approved, a.digest = false, "", fmt.Sprintf("plan-%d.%d", a.Release, a.lapses)
		a.report(gitops.PhaseWaiting)
		return true
	}
	a.begin()
	return true
}

func (a *actor) begin() {
	a.targets = nil
	for _, name := range a.Targets {
		o := promotion.TargetOutcome{Name: name, Phase: gitops.TargetApplying}
		if a.world.down[a.regions[name]] {
			o.Phase = gitops.TargetUnreachable
		}
		a.targets = append(a.targets, o)
	}
	a.world.rules.began(a)
	a.report(gitops.PhaseProgressing)
}

func (a *actor) bad() bool {
	r, _ := a.world.state.Release(a.Release)
	return len(r.Sources) > 0 && isBad(r.Sources)
}

func (a *actor) progress(how temper) {
	switch {
	case how.linger && how.prune:
		a.move(gitops.TargetPruneGate)
		a.report(gitops.PhaseProgressing)
	case how.soak && !a.bad() && !a.Delete:
		a.move(gitops.TargetSoaking)
		a.report(gitops.PhaseProgressing)
	case how.linger:
		a.move(gitops.TargetWaiting)
		a.report(gitops.PhaseProgressing)
	case a.bad() && a.move(gitops.TargetFailed):
		a.report(gitops.PhaseDegraded)
	case a.Delete && how.prune && a.move(gitops.TargetFailed): // a finalizer holds something
		a.report(gitops.PhaseDegraded)
	case a.Delete:
		a.move(gitops.TargetDeleted)
		a.world.rules.deleted(a)
		a.end(gitops.PhaseDeleted)
	default:
		a.move(gitops.TargetHealthy)
		a.end(gitops.PhaseHealthy)
	}
}

// move brings every target that can be reached to a phase, and says whether there
// is one.
func (a *actor) move(phase gitops.TargetPhase) bool {
	reached := false
	for i := range a.targets {
		o := &a.targets[i]
		if o.Phase == gitops.TargetUnreachable {
			continue
		}
		if a.world.down[a.regions[o.Name]] {
			o.Phase, o.Begun = gitops.TargetUnreachable, true
			continue
		}
		o.Phase, reached = phase, true
	}
	return reached
}

func (a *actor) stopped() {
	for i := range a.targets {
		if o := &a.targets[i]; o.Phase != gitops.TargetUnreachable {
			o.Phase, o.Begun = gitops.TargetStopped, true
		}
	}
}
