package workflows

import (
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// leaveDeclared leaves out the targets of a deletion that somebody declares by now:
// they may have moved to another Delivery, or have been given another name. It is asked
// before every plan, the one that follows the approval too.
func (r *rollout) leaveDeclared(ctx workflow.Context) {
	if !r.in.Delete {
		return
	}
	names := make([]string, 0, len(r.targets))
	for _, t := range r.targets {
		names = append(names, t.Target.Name)
	}
	declared, err := declaredTargets(ctx, names)
	for _, t := range r.targets {
		why := declared[t.Target.Name]
		switch t.declared = err != nil || why != ""; {
		case err != nil:
			t.settle(ctx, failed(err))
		case why != "":
			t.settle(ctx, ending{phase: gitops.TargetDeleted, message: "its objects stay: " + why})
		}
	}
}

// deletes says whether a plan in hand deletes anything.
func (r *rollout) deletes() bool {
	for _, t := range r.targets {
		if !t.declared && len(t.plan.Steps) > 0 {
			return true
		}
	}
	return false
}

// deletion says what the plans in hand delete.
func (r *rollout) deletion() string {
	objects, targets := 0, 0
	for _, t := range r.targets {
		if !t.declared && len(t.plan.Steps) > 0 {
			objects, targets = objects+t.plan.Prune, targets+1
		}
	}
	return fmt.Sprintf("deletes all %d objects of %d targets that are no longer declared", objects, targets)
}

// deleted is the good end of a target's deletion.
func (t *target) deleted() ending {
	message := fmt.Sprintf("%d objects are deleted", t.plan.Prune)
	if t.plan.Kept > 0 {
		message += fmt.Sprintf(", %d kept as their options say", t.plan.Kept)
	}
	return ending{phase: gitops.TargetDeleted, message: message}
}

func deletedMessage(count map[gitops.TargetPhase]int, total int) string {
	if lost := count[gitops.TargetUnreachable]; lost > 0 {
		return fmt.Sprintf("%d of %d targets are deleted, %d could not be reached", count[gitops.TargetDeleted], total, lost)
	}
	return fmt.Sprintf("%d targets are deleted", total)
}

// leavingTargets are the targets of a deletion, as they were declared last.
func (d *delivery) leavingTargets(names []string) (targets []TargetInput) {
	for _, l := range d.state.Leaving {
		if slices.Contains(names, l.Target.Name) {
			targets = append(targets, TargetInput{Target: l.Target, Bundle: l.Bundle})
		}
	}
	return targets
}

// abandon is the update that `tidegate abandon` sends.
func (d *delivery) abandon(ctx workflow.Context, in AbandonRequest) (AbandonResult, error) {
	before := len(d.state.Leaving)
	if _, err := d.ask(ctx, promotion.Event{Kind: promotion.DeletionAbandoned, By: in.By, Names: in.Targets}); err != nil {
		return AbandonResult{}, err
	}
	return AbandonResult{Message: fmt.Sprintf("%d targets are no longer to be deleted; what is in their regions stays", before-len(d.state.Leaving))}, nil
}

// refuseAbandon says why a request to abandon deletions is refused; nil when it is not.
func (d *delivery) refuseAbandon(in AbandonRequest) error {
	if in.By == "" {
		return errors.New("a request needs a name: say who asks in by")
	}
	meant := func(l promotion.Leaving) bool {
		return len(in.Targets) == 0 || slices.Contains(in.Targets, l.Target.Name)
	}
	if !slices.ContainsFunc(d.state.Leaving, meant) {
		return fmt.Errorf("no such target of %s is to be deleted", d.key)
	}
	return nil
}
