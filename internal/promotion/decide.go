package promotion

import (
	"slices"
	"strings"
	"time"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Decide returns the state after an event, and what must be done because of it.
// It is total: an event that makes no sense in a state is ignored. It does not
// change s, and the state that it returns shares nothing with s or e but values
// that are never written again.
func Decide(s State, e Event) (State, []Command) {
	m := machine{State: s.clone(), now: e.At.UTC().Round(0)}
	m.handle(e)
	m.advance()
	return m.State, m.commands
}

// Resume returns the commands whose end a state waits for and that nobody
// carries out any more after the workflow was lost: the render that was under
// way and the probes. Rollouts are not among them; what became of those is seen
// by looking at OpenRollouts.
func Resume(s State) []Command {
	var commands []Command
	if s.Render.Running {
		commands = append(commands, renderCommand(s.Render))
	}
	for _, region := range s.Probing {
		commands = append(commands, Command{Kind: Probe, Region: region})
	}
	return commands
}

// machine is one decision in the making.
type machine struct {
	State
	now      time.Time
	commands []Command
	// kept says that a release or a rollout has changed, so that the state is worth
	// a checkpoint.
	kept bool
}

// handle notes what an event says.
func (m *machine) handle(e Event) {
	switch e.Kind {
	case SpecChanged:
		m.specChanged(e)
	case Retired:
		m.retired()
	case DeletionAbandoned:
		m.abandoned(e)
	case HeadMoved:
		m.headMoved(e)
	case HeadMissing:
		m.headMissing(e)
	case Rendered:
		m.rendered(e)
	case RenderFailed:
		m.renderFailed(e)
	case RolloutReported:
		m.reported(e)
	case RolloutGone:
		m.gone(e)
	case SyncRequested:
		m.syncRequested(e)
	case ReopenRequested:
		m.reopenRequested(e)
	case RollbackRequested:
		m.rollbackRequested(e)
	case RegionRecovered:
		m.recovered(e.Region)
	}
}

// advance draws every conclusion from what is known now, whatever the event was.
func (m *machine) advance() {
	m.render()
	for i := range m.Stages {
		m.enter(i)
	}
	for i := range m.Stages {
		m.moveOn(i)
	}
	m.deleteLeaving()
	m.dropRetired()
	m.probe()
	m.refreshTargets()
	m.trim()
	if m.kept {
		m.command(Command{Kind: Checkpoint})
	}
}

func (m *machine) command(c Command) { m.commands = append(m.commands, c) }

// stage returns the named stage's place; -1 when there is none.
func (m *machine) stage(name string) int {
	for i := range m.Stages {
		if m.Stages[i].Name == name {
			return i
		}
	}
	return -1
}

// declared returns a stage as the specification has it; the zero Stage when it
// is retired.
func (m *machine) declared(name string) gitops.Stage {
	for _, st := range m.Spec.Stages {
		if st.Name == name {
			return st
		}
	}
	return gitops.Stage{}
}

func (m *machine) target(name string) *TargetState {
	i, ok := slices.BinarySearchFunc(m.Targets, name, func(t TargetState, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return nil
	}
	return &m.Targets[i]
}
