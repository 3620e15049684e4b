package promotion_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// BenchmarkDecide takes a progress report into account in a Delivery of a
// thousand targets.
func BenchmarkDecide(b *testing.B) {
	spec := gitops.Delivery{Project: "shop", Name: "web", Digest: "one", Stages: []gitops.Stage{{Name: "all"}}}
	source := gitops.Source{Repository: "git.test/shop", Revision: "main"}
	var bundles []gitops.Bundle
	var outcomes []promotion.TargetOutcome
	for i := range 1000 {
		name := fmt.Sprintf("t%04d", i)
		spec.Stages[0].Targets = append(spec.Stages[0].Targets, name)
		spec.Targets = append(spec.Targets, gitops.Target{Name: name, Region: name, Source: source, SyncPolicy: gitops.SyncPolicy{Automated: true}})
		bundles = append(bundles, gitops.Bundle{Target: name, Digest: name})
		outcomes = append(outcomes, promotion.TargetOutcome{Name: name, Phase: gitops.TargetHealthy})
	}
	ref, at := source.Ref(), time.Unix(1_700_000_000, 0)
	s, _ := promotion.Decide(promotion.New(spec), promotion.Event{Kind: promotion.HeadMoved, At: at, Ref: &ref, Seq: 1, Commit: "a"})
	s, _ = promotion.Decide(s, promotion.Event{Kind: promotion.Rendered, At: at, Render: 1, Bundles: bundles})
	report := promotion.Event{Kind: promotion.RolloutReported, At: at, Stage: "all", Rollout: 1, Phase: gitops.PhaseProgressing, Targets: outcomes}
	for b.Loop() {
		promotion.Decide(s, report)
	}
}
