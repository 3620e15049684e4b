package kube_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/kube/kubetest"
)

// slowHook runs for a minute.
const slowHook = `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: HookSucceeded}}
spec:
  template:
    metadata: {annotations: {local.tidegate.dev/duration: 60s}}
    spec: {restartPolicy: Never, containers: [{name: main, image: registry.example/tool:1}]}
`

// As after the death of a worker at any moment: what has been created is adopted.
func hookRunOnce(t *testing.T, s *scene) {
	plan := s.plan(t, slowHook)
	first, err := s.apply(t, plan, 0)
	require.NoError(t, err)
	again, err := s.apply(t, plan, 0)
	require.NoError(t, err)
	require.Equal(t, first.Records[0].UID, again.Records[0].UID)
	created := s.server.Requests(t, func(r kubetest.Request) bool {
		return r.Verb == "create" && r.Ref.Resource == "jobs" && r.Ref.Namespace == s.target.Namespace && r.Response.Code == 201
	})
	require.Len(t, created, 1)
}

// A Job that has ended and been deleted since is known to have ended, by whoever
// looks next.
func hookEndKept(t *testing.T, s *scene) {
	plan := s.plan(t, slowHook)
	_, err := s.apply(t, plan, 0)
	require.NoError(t, err)
	s.finishJob(t)
	require.NoError(t, s.server.Admin.BatchV1().Jobs(s.target.Namespace).Delete(t.Context(), "migrate", background))
	again, err := s.apply(t, plan, 0)
	require.NoError(t, err)
	outcome, err := s.region.Wait(t.Context(), kube.WaitInput{Plan: plan, Records: again.Records, Deadline: soon})
	require.NoError(t, err)
	require.Equal(t, gitops.Healthy, outcome.Health, "%v", outcome.Issues)
	require.NoError(t, s.region.Finish(t.Context(), kube.FinishInput{Plan: plan, Claim: s.claim(), Delivered: true}))
	s.requireNoJob(t)
}

func hookDeleted(t *testing.T, s *scene) {
	plan := s.plan(t, slowHook)
	applied, err := s.apply(t, plan, 0)
	require.NoError(t, err)
	require.NoError(t, s.server.Admin.BatchV1().Jobs(s.target.Namespace).Delete(t.Context(), "migrate", background))
	outcome, err := s.region.Wait(t.Context(), kube.WaitInput{Plan: plan, Records: applied.Records, Deadline: soon})
	require.NoError(t, err)
	require.Equal(t, gitops.Degraded, outcome.Health)
	require.Equal(t, "is being deleted by somebody else before it has ended", outcome.Issues[0].Message)
	require.NoError(t, s.region.Finish(t.Context(), kube.FinishInput{Plan: plan, Claim: s.claim()}))
	s.requireNoJob(t)
}

func hookVanished(t *testing.T, s *scene) {
	plan := s.plan(t, slowHook)
	applied, err := s.apply(t, plan, 0)
	require.NoError(t, err)
	jobs := s.server.Admin.BatchV1().Jobs(s.target.Namespace)
	_, err = jobs.Patch(t.Context(), "migrate", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, jobs.Delete(t.Context(), "migrate", background))
	outcome, err := s.region.Wait(t.Context(), kube.WaitInput{Plan: plan, Records: applied.Records, Deadline: soon})
	require.NoError(t, err)
	require.Equal(t, gitops.Degraded, outcome.Health)
	require.Equal(t, "was deleted by somebody else before it was seen to end", outcome.Issues[0].Message)
}

// A rollout that is aborted leaves no hook behind, and nothing that is held.
func hookAborted(t *testing.T, s *scene) {
	plan := s.plan(t, slowHook)
	_, err := s.apply(t, plan, 0)
	require.NoError(t, err)
	for range 2 { // it may be repeated
		require.NoError(t, s.region.Finish(t.Context(), kube.FinishInput{Plan: plan, Claim: s.claim()}))
	}
	s.requireNoJob(t)
	require.Equal(t, 1, s.plan(t, slowHook).Summary("").Hooks, "it was not delivered to its end, and runs again")
}

// finishJob completes the Job, once its controller has begun with it.
func (s *scene) finishJob(t *testing.T) {
	t.Helper()
	jobs := s.server.Admin.BatchV1().Jobs(s.target.Namespace)
	var began string
	require.Eventually(t, func() bool {
		job, err := jobs.Get(t.Context(), "migrate", metav1.GetOptions{})
		require.NoError(t, err)
		if job.Status.StartTime != nil {
			began = job.Status.StartTime.UTC().Format(time.RFC3339)
		}
		return began != ""
	}, soon, 10*time.Millisecond)
	status := `{"status":{"completionTime":"` + began + `","succeeded":1,"active":0,"ready":0,"conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}}`
	_, err := jobs.Patch(t.Context(), "migrate", types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
}

func (s *scene) requireNoJob(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := s.server.Admin.BatchV1().Jobs(s.target.Namespace).Get(t.Context(), "migrate", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, soon, 10*time.Millisecond)
}

var background = metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}

// A rollout that is tried again in a target starts with the first step, and whoever
// still works on the try before has lost.
func retryStartsOver(t *testing.T, s *scene) {
	later := strings.ReplaceAll(settings, "metadata: {name: settings}", `metadata: {name: later, annotations: {argocd.argoproj.io/sync-wave: "1"}}`)
	plan := s.plan(t, settings, later)
	for step := range 2 {
		_, err := s.apply(t, plan, step)
		require.NoError(t, err)
	}
	again := s.claim()
	again.Retry = 1
	_, err := s.region.Apply(t.Context(), kube.ApplyInput{Plan: plan, Claim: again, MAC: mac})
	require.NoError(t, err)
	_, err = s.apply(t, plan, 1)
	require.ErrorIs(t, err, kube.ErrFenced)
}
