package activities_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"sigs.k8s.io/yaml"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/artifact"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/kube/kubetest"
	"github.com/tidegate/tidegate/internal/telemetry"
)

// blobs is an artifact store in memory.
type blobs struct {
	mu   sync.Mutex
	data map[string][]byte
}

func (b *blobs) Get(_ context.Context, digest string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.data[digest]
	if !ok {
		return nil, artifact.ErrNotFound
	}
	return data, nil
}

func (b *blobs) Put(_ context.Context, kind string, data []byte) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	digest := kind + ":" + mac(kind, data)
	b.data[digest] = data
	return digest, nil
}

func mac(label string, data []byte) string {
	h := hmac.New(sha256.New, []byte("key of the test"))
	fmt.Fprintf(h, "%s\n", label)
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// worker runs activities as a worker that serves one region.
type worker struct {
	*testsuite.TestActivityEnvironment
	*activities.Region
	blobs *blobs
	names *prometheus.Registry
}

func newWorker(t *testing.T, kubeconfig string) *worker {
	t.Helper()
	region, err := kube.Open(t.Context(), kube.Settings{Name: "eu-1", Kubeconfig: kubeconfig, Unreachable: time.Second, Patience: 2 * time.Second})
	require.NoError(t, err)
	t.Cleanup(region.Close)
	w := &worker{blobs: &blobs{data: map[string][]byte{}}, names: prometheus.NewRegistry()}
	w.Region = &activities.Region{
		Kube: func(name string) (*kube.Region, error) {
			if name != "eu-1" {
				return nil, errors.New("no such region here")
			}
			return region, nil
		},
		Store: w.blobs, MAC: mac, Metrics: telemetry.NewMetrics(w.names),
	}
	var suite testsuite.WorkflowTestSuite
	w.TestActivityEnvironment = suite.NewTestActivityEnvironment()
	w.SetTestTimeout(time.Minute)
	w.RegisterActivity(w.Region)
	return w
}

// run executes an activity and decodes its result.
func run[Result any](t *testing.T, w *worker, activity, in any) (result Result, err error) {
	t.Helper()
	value, err := w.ExecuteActivity(activity, in)
	if err != nil {
		return result, err
	}
	require.NoError(t, value.Get(&result))
	return result, nil
}

func (w *worker) bundle(t *testing.T, documents string) gitops.Bundle {
	t.Helper()
	objects := []any{}
	for doc := range strings.SplitSeq(documents, "\n---\n") {
		var object any
		require.NoError(t, yaml.Unmarshal([]byte(doc), &object))
		objects = append(objects, object)
	}
	data, err := json.Marshal(objects)
	require.NoError(t, err)
	digest, err := w.blobs.Put(t.Context(), "bundle", data)
	require.NoError(t, err)
	return gitops.Bundle{Target: target.Name, Digest: digest, Objects: len(objects)}
}

var target = gitops.Target{
	Name: "shop", Project: "default", Region: "eu-1", Namespace: "shop",
	SyncPolicy: gitops.SyncPolicy{Automated: true, Prune: true, Options: []string{"CreateNamespace=true"}},
}

const shop = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: blue}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: registry.example/web:1}]}
`

func TestRegionDeliversAPlan(t *testing.T) {
	server := kubetest.Start(t, "eu-1")[0]
	w := newWorker(t, server.Kubeconfig)
	ref := activities.RolloutRef{Delivery: "default/shop", Stage: "prod", Number: 4}

	probed, err := run[activities.ProbeResult](t, w, w.Probe, activities.ProbeInput{Region: "eu-1"})
	require.NoError(t, err)
	require.NotEmpty(t, probed.UID)

	plan, err := run[gitops.PlanSummary](t, w, w.Plan, activities.PlanInput{Target: target, Bundle: w.bundle(t, shop), Rollout: ref})
	require.NoError(t, err)
	require.Equal(t, 3, plan.Apply)
	require.Equal(t, []gitops.Step{{Phase: gitops.Sync, Apply: 3, Wait: 1}}, plan.Steps)
	require.Equal(t, []string{"create Namespace shop", "create ConfigMap shop/settings", "create apps/Deployment shop/web"}, plan.Sample)

	applied, err := run[activities.StepResult](t, w, w.Apply, activities.ApplyInput{Target: target, Plan: plan.Artifact, Rollout: ref})
	require.NoError(t, err)
	require.Equal(t, 3, applied.Applied)
	require.Empty(t, applied.Failures)

	waited, err := run[activities.WaitResult](t, w, w.Wait, activities.WaitInput{Target: target, Plan: plan.Artifact, Records: applied.Records, Deadline: 20 * time.Second, Rollout: ref})
	require.NoError(t, err)
	require.Equal(t, gitops.Healthy, waited.Health)

	patches := server.Requests(t, func(r kubetest.Request) bool { return r.Verb == "patch" && r.Ref.Namespace == "shop" })
	require.NotEmpty(t, patches)
	require.Equal(t, "tidegate/unknown rollout=default/shop/prod#4 attempt=1", patches[0].Agent)

	again, err := run[gitops.PlanSummary](t, w, w.Plan, activities.PlanInput{Target: target, Bundle: w.bundle(t, shop), Rollout: ref})
	require.NoError(t, err)
	require.True(t, again.Empty())
	require.Equal(t, plan.Digest, again.Digest)
	require.Equal(t, 3, testutil.CollectAndCount(w.Metrics.SyncDuration), "plan, apply, wait")

	ref.Number = 3
	_, err = run[activities.StepResult](t, w, w.Apply, activities.ApplyInput{Target: target, Plan: plan.Artifact, Rollout: ref})
	requireFinal(t, err, activities.ErrorFenced)

	neighbour := target
	neighbour.Name = "neighbour"
	_, err = run[gitops.PlanSummary](t, w, w.Plan, activities.PlanInput{Target: neighbour, Bundle: w.bundle(t, shop), Rollout: ref})
	requireFinal(t, err, activities.ErrorRefused)
	require.ErrorContains(t, err, "it is tracked by target shop")

	failing := ""
	for i := range 30 {
		failing += fmt.Sprintf("\n---\napiVersion: v1\nkind: Service\nmetadata: {name: s%d}\nspec: {ports: [{port: 0}]}", i)
	}
	ref.Number = 5
	plan, err = run[gitops.PlanSummary](t, w, w.Plan, activities.PlanInput{Target: target, Bundle: w.bundle(t, shop+failing), Rollout: ref})
	require.NoError(t, err)
	applied, err = run[activities.StepResult](t, w, w.Apply, activities.ApplyInput{Target: target, Plan: plan.Artifact, Rollout: ref})
	require.NoError(t, err)
	require.Len(t, applied.Failures, 21)
	require.Equal(t, "and 10 more", applied.Failures[20].Object)
	size, err := json.Marshal(applied)
	require.NoError(t, err)
	require.Less(t, len(size), 16<<10)
}

func requireFinal(t *testing.T, err error, kind string) {
	t.Helper()
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, kind, application.Type())
	require.True(t, application.NonRetryable())
}

// nowhere is a kubeconfig of a region that does not answer.
func nowhere(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(`
apiVersion: v1
kind: Config
current-context: x
clusters: [{name: x, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: x, context: {cluster: x}}]
`), 0o600))
	return path
}

func TestARegionThatDoesNotAnswerIsAResult(t *testing.T) {
	w := newWorker(t, nowhere(t))
	plan, err := run[gitops.PlanSummary](t, w, w.Plan, activities.PlanInput{Target: target, Bundle: w.bundle(t, shop)})
	require.NoError(t, err)
	require.Equal(t, "shop", plan.Target)
	require.Contains(t, plan.Unreachable, "region does not answer")
	require.Contains(t, plan.Unreachable, "connection refused")

	digest, err := w.blobs.Put(t.Context(), "plan", []byte(`{"target":"shop","steps":[{"phase":"Sync","groups":[[{"key":{"kind":"ConfigMap","name":"a"},"apiVersion":"v1","action":"create","tracked":true}]]}]}`))
	require.NoError(t, err)
	applied, err := run[activities.StepResult](t, w, w.Apply, activities.ApplyInput{Target: target, Plan: digest})
	require.NoError(t, err)
	require.Contains(t, applied.Unreachable, "region does not answer")
	waited, err := run[activities.WaitResult](t, w, w.Wait, activities.WaitInput{Target: target, Plan: digest, Deadline: time.Minute})
	require.NoError(t, err)
	require.Contains(t, waited.Unreachable, "region does not answer")
	require.InDelta(t, 1, testutil.ToFloat64(w.Metrics.SyncErrors.WithLabelValues("eu-1", "plan", activities.ErrorRegionUnreachable)), 0)
}

func TestWhatGitGotWrongIsNotRetried(t *testing.T) {
	w := newWorker(t, nowhere(t))
	_, err := run[gitops.PlanSummary](t, w, w.Plan, activities.PlanInput{Target: target, Bundle: gitops.Bundle{Digest: "bundle:gone"}})
	requireFinal(t, err, activities.ErrorArtifactLost)

	elsewhere := target
	elsewhere.Region = "us-1"
	_, err = run[gitops.PlanSummary](t, w, w.Plan, activities.PlanInput{Target: elsewhere, Bundle: w.bundle(t, shop)})
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.False(t, application.NonRetryable(), "another worker may serve it")
	require.Equal(t, activities.ErrorUnknown, application.Type())
}
