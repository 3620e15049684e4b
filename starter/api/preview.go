package api

import (
	"context"
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/workflows"
)

// check says what is wrong with a request to sync.
func check(scope *gitops.SyncScope) error {
	if scope == nil {
		return nil
	}
	if err := scope.Check(); err != nil {
		return huma.Error422UnprocessableEntity(err.Error())
	}
	return nil
}

// preview says what a sync would do, and does nothing.
func (s server) preview(ctx context.Context, in *struct {
	DeliveryName
	Key  string `header:"Idempotency-Key"`
	Body Sync
},
) (*answer[workflows.PreviewResult], error) {
	scope := in.Body.scope()
	if err := check(scope); err != nil {
		return nil, err
	}
	var state promotion.State
	if err := s.Asker.Query(ctx, workflows.DeliveryID(in.key()), workflows.QueryState, &state); err != nil {
		return nil, explain(err, unknownDelivery(in.key()))
	}
	for _, name := range in.Body.Targets {
		if _, declared := state.Spec.Target(name); !declared {
			return nil, huma.Error422UnprocessableEntity(fmt.Sprintf("%s has no target %s; `tidegate get targets %s` lists them", in.key(), name, in.key()))
		}
	}
	input := workflows.PreviewInput{Delivery: in.key()}
	for _, p := range state.Previews(in.Body.Targets, scope) {
		stage := workflows.PreviewStage{
			Delivery: in.key(), Stage: p.Stage, Release: p.Release.Number, Revision: p.Release.Revision(), Health: state.Spec.Health, Scope: scope,
		}
		for _, t := range p.Targets {
			bundle, _ := p.Release.Bundle(t.Name)
			stage.Targets = append(stage.Targets, workflows.TargetInput{Target: t, Bundle: bundle})
		}
		input.Stages = append(input.Stages, stage)
	}
	var result workflows.PreviewResult
	err := s.Teller.Preview(ctx, workflows.PreviewID(in.key(), in.Key), input, &result)
	if result.Stages == nil {
		result.Stages = []workflows.RolloutStatus{}
	}
	return &answer[workflows.PreviewResult]{result}, explain(err, unknownDelivery(in.key()))
}
