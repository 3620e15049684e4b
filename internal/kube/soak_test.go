package kube_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/kube/kubetest"
)

func TestASoak(t *testing.T) {
	server := kubetest.Start(t, "soak")[0]
	region := open(t, server)
	s := newScene(t, server, region, "soak")
	plan := s.plan(t, web, settings)
	require.Equal(t, gitops.Healthy, s.deliver(t, plan).Health)
	pause := func(paused string) {
		_, err := server.Admin.AppsV1().Deployments("soak").Patch(t.Context(), "web", types.MergePatchType, []byte(`{"spec": {"paused": `+paused+`}}`), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	soak := func(in kube.SoakInput) kube.Outcome {
		in.Plan = plan
		outcome, err := region.Soak(t.Context(), in)
		require.NoError(t, err)
		return outcome
	}

	t.Run("ends when all is healthy for as long as asked", func(t *testing.T) {
		started := time.Now()
		require.Equal(t, gitops.Healthy, soak(kube.SoakInput{For: 1500 * time.Millisecond, Patience: soon}).Health)
		require.GreaterOrEqual(t, time.Since(started), 1500*time.Millisecond)
	})

	t.Run("goes on counting from where an attempt before was", func(t *testing.T) {
		require.Equal(t, gitops.Healthy, soak(kube.SoakInput{For: 24 * time.Hour, Since: time.Now().Add(-25 * time.Hour), Patience: soon}).Health)
	})

	t.Run("begins anew when health was lost", func(t *testing.T) {
		var lose, regain sync.Once
		lost := false
		outcome := soak(kube.SoakInput{For: 3 * time.Second, Patience: soon, Progress: func(_ string, since time.Time) {
			if !since.IsZero() {
				lose.Do(func() { pause("true") })
				return
			}
			regain.Do(func() { lost = true; pause("false") })
		}})
		require.Equal(t, gitops.Healthy, outcome.Health)
		require.True(t, lost)
	})

	t.Run("names what does not recover", func(t *testing.T) {
		pause("true")
		outcome := soak(kube.SoakInput{For: 24 * time.Hour, Since: time.Now().Add(-time.Hour), Patience: 100 * time.Millisecond})
		require.Equal(t, gitops.Suspended, outcome.Health)
		require.Equal(t, "apps/Deployment soak/web", outcome.Issues[0].Object)
	})
}
