package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Preview says what a sync would do: it plans every target, and tries the plans out. It
// writes nothing, and holds no lock.
func Preview(ctx workflow.Context, in PreviewInput) (PreviewResult, error) {
	result := PreviewResult{Stages: make([]RolloutStatus, len(in.Stages))}
	group := workflow.NewWaitGroup(ctx)
	for i, stage := range in.Stages {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			r := newRollout(ctx, stage)
			r.planTargets(ctx)
			r.openPruneGate(ctx)
			r.status.Message = r.unselected()
			result.Stages[i] = r.status
		})
	}
	group.Wait(ctx)
	return result, nil
}

// scope is what somebody asked of the sync beyond the usual.
func (r *rollout) scope() (scope gitops.SyncScope) {
	if r.in.Scope != nil {
		scope = *r.in.Scope
	}
	return scope
}

// unselected says what is wrong when somebody asked for objects that no target has.
func (r *rollout) unselected() string {
	scope := r.scope()
	if len(scope.Resources) == 0 {
		return ""
	}
	for _, t := range r.targets {
		if t.plan.Selected > 0 || t.status.Phase != gitops.TargetHealthy && t.status.Phase != gitops.TargetPlanned {
			return ""
		}
	}
	return fmt.Sprintf("no target has an object that %q selects", scope.Resources)
}
