package watch

import (
	"fmt"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/starter/client"
	"github.com/tidegate/tidegate/workflows"
)

// viewOfRollout shows one rollout by itself.
func viewOfRollout(id client.RolloutID, r workflows.RolloutStatus, untilGate bool) View {
	v := View{
		Title: fmt.Sprintf("rollout %s  release %d (%s)  %s", id, r.Release, gitops.ShortRevision(r.Revision), r.Phase),
		Rows:  rowsOf(r), Notes: notesOf(id, r),
	}
	tellApart(v.Rows)
	switch {
	case r.Phase.Final():
		v.End = &End{Outcome: outcomeOf(r.Phase), Message: sentence(id.String(), r.Phase, r.Message)}
	case untilGate && WaitsAtGate(r):
		v.End = &End{Outcome: AtGate, Message: id.String() + " waits at a gate"}
	}
	return v
}

func outcomeOf(phase gitops.Phase) Outcome {
	switch phase {
	case gitops.PhaseHealthy, gitops.PhaseDeleted:
		return Healthy
	case gitops.PhaseFailed:
		return Failed
	default:
		return Stopped
	}
}

// WaitsAtGate says whether a rollout waits for somebody: at the entry of its
// stage, or before a prune that is above the deletion budget.
func WaitsAtGate(r workflows.RolloutStatus) bool {
	if r.Phase == gitops.PhaseWaiting {
		return true
	}
	for _, t := range r.Targets {
		if t.Phase == gitops.TargetPruneGate {
			return true
		}
	}
	return false
}

func sentence(subject string, phase gitops.Phase, message string) string {
	text := fmt.Sprintf("%s is %s", subject, phase)
	if message != "" {
		text += ": " + message
	}
	return text
}

// rowsOf has a row for each target of a rollout.
func rowsOf(r workflows.RolloutStatus) []Row {
	rows := make([]Row, 0, len(r.Targets))
	for _, t := range r.Targets {
		row := Row{Stage: r.Stage, Region: t.Region, Target: t.Name, Health: "–"}
		row.Wave, row.Urgency = waveOf(t)
		switch {
		case t.Health != "":
			row.Health = string(t.Health)
		case t.Phase == gitops.TargetApplying || t.Phase == gitops.TargetWaiting:
			row.Health = string(gitops.Progressing)
		case t.Phase == gitops.TargetUnreachable:
			row.Health = string(gitops.HealthUnknown)
		}
		rows = append(rows, row)
	}
	return rows
}

// waveOf says where a target stands.
func waveOf(t workflows.TargetStatus) (string, Urgency) {
	wave := fmt.Sprintf("%s (%d/%d)", t.Wave, min(t.Step+1, t.Steps), t.Steps)
	switch t.Phase {
	case gitops.TargetPlanned:
		switch {
		case t.Apply == 0 && t.Prune == 0:
			return "nothing to change", Pending
		case t.Prune == 0:
			return fmt.Sprintf("%d to apply", t.Apply), Pending
		}
		return fmt.Sprintf("%d to apply, %d to prune", t.Apply, t.Prune), Pending
	case gitops.TargetApplying:
		return "applying " + wave, Active
	case gitops.TargetWaiting:
		return "waiting " + wave, Active
	case gitops.TargetPruneGate:
		return "waits at the prune gate", Active
	case gitops.TargetSoaking:
		return "soaking", Active
	case gitops.TargetHealthy:
		return "done", Done
	case gitops.TargetDeleted:
		return "deleted", Done
	case gitops.TargetFailed:
		if t.Wave == "" {
			return "failed", Broken
		}
		return "failed in " + t.Wave, Broken
	case gitops.TargetUnreachable:
		return "unreachable", Broken
	case gitops.TargetStopped:
		return "stopped", Done
	default:
		return "planning", Pending
	}
}

// notesOf says what a rollout waits for and what is wrong with its targets.
func notesOf(id client.RolloutID, r workflows.RolloutStatus) []string {
	var notes []string
	for _, g := range r.Gates {
		switch {
		case g.State == workflows.GateStateOpen || r.Phase.Final():
		case g.State == workflows.GateStateWaiting && r.Phase != gitops.PhasePlanning:
			notes = append(notes, fmt.Sprintf("Gate %s of %s: %s.", g.Name, id, g.Message))
			if g.IsAnswered() {
				notes = append(notes, "Open it with: tidegate approve "+id.String())
			}
		}
	}
	for _, t := range r.Targets {
		if t.Message != "" && (t.Phase == gitops.TargetFailed || t.Phase == gitops.TargetUnreachable) {
			notes = append(notes, t.Region+": "+t.Message)
		}
	}
	return notes
}

// State says in a few words where a target of a rollout stands.
func State(t workflows.TargetStatus) string {
	state, _ := waveOf(t)
	return state
}
