package kube_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/kube/kubetest"
)

func TestADeletionByAnotherDeliveryThanTheOneThatHasWritten(t *testing.T) {
	server := kubetest.Start(t, "deletion")[0]
	region := open(t, server)
	heir := kube.Claim{Delivery: "default/heir", Epoch: 1, Attempt: 1}
	plan := func(t *testing.T, s *scene) kube.Plan {
		s.deletedBy = heir.Delivery
		defer func() { s.deletedBy = "" }()
		return s.plan(t)
	}

	t.Run("deletes what it has found as it should be", func(t *testing.T) {
		s := newScene(t, server, region, "inherited")
		s.sync(t, settings)
		p := plan(t, s)
		require.Len(t, p.Steps, 1)
		applied, err := region.Apply(t.Context(), kube.ApplyInput{Plan: p, Claim: heir, MAC: mac})
		require.NoError(t, err)
		outcome, err := region.Wait(t.Context(), kube.WaitInput{Plan: p, Records: applied.Records, Deadline: soon})
		require.NoError(t, err)
		require.Equal(t, gitops.Healthy, outcome.Health)
		for range 2 { // an attempt may be repeated
			require.NoError(t, region.Finish(t.Context(), kube.FinishInput{Plan: p, Claim: heir, Delivered: true}))
		}
		inventory, err := region.Inventory(t.Context(), s.target.Name)
		require.NoError(t, err)
		require.Empty(t, inventory.Delivery)
	})

	t.Run("leaves alone what somebody has taken over since the plan", func(t *testing.T) {
		s := newScene(t, server, region, "taken-over")
		s.sync(t, settings)
		p := plan(t, s)
		next := s.plan(t, settings, web)
		_, err := region.Apply(t.Context(), kube.ApplyInput{Plan: next, Claim: kube.Claim{Delivery: "default/third", Epoch: 1, Attempt: 1}, MAC: mac})
		require.NoError(t, err)
		_, err = region.Apply(t.Context(), kube.ApplyInput{Plan: p, Claim: heir, MAC: mac})
		require.ErrorIs(t, err, kube.ErrFenced)
		require.ErrorIs(t, region.Finish(t.Context(), kube.FinishInput{Plan: p, Claim: heir, Delivered: true}), kube.ErrFenced)
	})

	t.Run("leaves alone what is gone", func(t *testing.T) {
		s := newScene(t, server, region, "gone")
		s.sync(t, settings)
		p := plan(t, s)
		require.NoError(t, region.Finish(t.Context(), kube.FinishInput{Plan: p, Claim: heir, Delivered: true}))
		_, err := region.Apply(t.Context(), kube.ApplyInput{Plan: p, Claim: heir, MAC: mac})
		require.ErrorIs(t, err, kube.ErrFenced)
	})
}
