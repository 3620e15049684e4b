package kube_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/kube/kubetest"
)

func TestOutage(t *testing.T) {
	server := kubetest.Start(t, "stormy")[0]
	quick := func(o *kube.Settings) { o.Unreachable = 1500 * time.Millisecond }
	region := openWith(t, server, quick)
	failing := strings.ReplaceAll(web, "metadata: {labels: {app: web}}", "metadata: {labels: {app: web}, annotations: {"+kubetest.FailAnnotation+": it crashes}}")

	t.Run("a short one does not end a wait", func(t *testing.T) {
		patient := openWith(t, server, func(o *kube.Settings) { o.Unreachable = time.Minute })
		s := newScene(t, server, patient, "short")
		plan := s.plan(t, failing)
		applied, err := s.apply(t, plan, 0)
		require.NoError(t, err)
		outcome := waitInBackground(t, patient, kube.WaitInput{Plan: plan, Records: applied.Records, Deadline: time.Minute})
		require.NoError(t, server.Restart(t.Context()))
		s.patch(t, "deployments", "web", `{"spec":{"template":{"metadata":{"annotations":{"`+kubetest.FailAnnotation+`":null}}}}}`)
		result := <-outcome
		require.NoError(t, result.err)
		require.Equal(t, gitops.Healthy, result.Health, "%v", result.Issues)
	})

	t.Run("one in the middle of a wave is got over", func(t *testing.T) {
		patient := openWith(t, server, func(o *kube.Settings) { o.Unreachable = time.Minute })
		s := newScene(t, server, patient, "mid-wave")
		plan := s.plan(t, manyConfigMaps(400, 0)...)
		restart := make(chan struct{})
		begun := sync.OnceFunc(func() { close(restart) })
		type result struct {
			applied kube.Applied
			err     error
		}
		done := make(chan result)
		go func() {
			applied, err := patient.Apply(t.Context(), kube.ApplyInput{Plan: plan, Claim: s.claim(), MAC: mac, Deadline: time.Minute, Progress: func(string) { begun() }})
			done <- result{applied, err}
		}()
		<-restart
		require.NoError(t, server.Restart(t.Context()))
		r := <-done
		require.NoError(t, r.err)
		require.Empty(t, r.applied.Failures)
		require.Empty(t, s.actions(s.plan(t, manyConfigMaps(400, 0)...)))
	})

	t.Run("a frozen server is found out", func(t *testing.T) {
		s := newScene(t, server, region, "frozen")
		plan := s.plan(t, failing)
		applied, err := s.apply(t, plan, 0)
		require.NoError(t, err)
		outcome := waitInBackground(t, region, kube.WaitInput{Plan: plan, Records: applied.Records, Deadline: time.Minute})
		require.NoError(t, server.Freeze())
		_, err = s.tryPlan(t, s.bundle(t, settings))
		require.ErrorIs(t, err, kube.ErrUnreachable)
		_, err = s.apply(t, plan, 0)
		require.ErrorIs(t, err, kube.ErrUnreachable)
		result := <-outcome
		require.ErrorIs(t, result.err, kube.ErrUnreachable, "nobody waits for a watch that will not tell")
		require.NoError(t, server.Thaw())
		s.sync(t, web)
	})

	t.Run("a dead server is unreachable, and works again when it is back", func(t *testing.T) {
		s := newScene(t, server, region, "dead")
		s.sync(t, settings)
		plan := s.plan(t, web, settings)
		uid, err := region.Probe(t.Context())
		require.NoError(t, err)
		require.NoError(t, server.Kill())
		started := time.Now()
		_, err = s.tryPlan(t, s.bundle(t, settings))
		require.ErrorIs(t, err, kube.ErrUnreachable)
		require.Greater(t, time.Since(started), time.Second, "it is given time")
		s.epoch++
		_, err = s.apply(t, plan, 0)
		require.ErrorIs(t, err, kube.ErrUnreachable)
		_, err = region.Probe(t.Context())
		require.Error(t, err)
		require.NoError(t, server.Restart(t.Context()))
		again, err := region.Probe(t.Context())
		require.NoError(t, err)
		require.Equal(t, uid, again)
		s.sync(t, web, settings)
	})

	t.Run("another cluster at the same address is delivered to anew, and nothing is pruned", func(t *testing.T) {
		s := newScene(t, server, region, "replaced")
		s.sync(t, settings, web)
		uid, err := region.Probe(t.Context())
		require.NoError(t, err)
		require.NoError(t, server.Replace(t.Context()))
		again, err := region.Probe(t.Context())
		require.NoError(t, err)
		require.NotEqual(t, uid, again)
		s.target.SyncPolicy.Options = []string{"CreateNamespace=true"}
		s.epoch = 0 // the region knows of no rollout
		plan := s.sync(t, web)
		require.Equal(t, []string{"create Namespace replaced", "create apps/Deployment $/web"}, s.actions(plan))
		_, err = server.Admin.AppsV1().Deployments("replaced").Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
	})
}

type waited struct {
	kube.Outcome
	err error
}

// waitInBackground waits, and returns once the wait has begun.
func waitInBackground(t *testing.T, region *kube.Region, in kube.WaitInput) <-chan waited {
	t.Helper()
	begun, result := make(chan string, 1), make(chan waited, 1)
	in.Progress = func(m string) {
		select {
		case begun <- m:
		default:
		}
	}
	go func() {
		outcome, err := region.Wait(t.Context(), in)
		result <- waited{outcome, err}
	}()
	require.Contains(t, <-begun, "0 of 1 done")
	return result
}
