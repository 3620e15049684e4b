package kube_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/kube/kubetest"
)

const small = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}
`

// documents are 100 ConfigMaps and 10 Deployments that all differ from one
// generation to the next.
func documents(generation int) []string {
	var out []string
	filler := strings.Repeat("x", 400)
	for i := range 100 {
		out = append(out, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\ndata: {generation: %q, filler: %s}", i, fmt.Sprint(generation), filler))
	}
	for i := range 10 {
		d := strings.ReplaceAll(small, "name: web}", fmt.Sprintf("name: w%d}", i))
		out = append(out, strings.ReplaceAll(d, "web:1", fmt.Sprintf("web:%d", generation)))
	}
	return out
}

// BenchmarkStep changes 110 objects, in turns by a bare loop of server-side
// applies with eight in flight, which is the least that it can cost, and by an
// apply of a plan. The ratio is what safety and bookkeeping cost.
func BenchmarkStep(b *testing.B) {
	server := kubetest.Start(b, "bench")[0]
	s := newScene(b, server, open(b, server), "bench")
	s.sync(b, documents(0)...)
	loop := bareLoopIn(b, server, "bench")
	var bare, ours time.Duration
	generation := 0
	for b.Loop() {
		generation++
		texts := documents(generation)
		objects := decode(b, s.plan(b, texts...))
		started := time.Now()
		loop(objects)
		bare += time.Since(started)
		s.sync(b, texts...) // until all pods are there

		generation++
		s.epoch++
		plan := s.plan(b, documents(generation)...)
		started = time.Now()
		applied, err := s.apply(b, plan, 0)
		ours += time.Since(started)
		require.NoError(b, err)
		require.Equal(b, 110, applied.Applied)
		s.sync(b, documents(generation)...)
	}
	b.ReportMetric(bare.Seconds()*1000/float64(b.N), "bare-ms/op")
	b.ReportMetric(ours.Seconds()*1000/float64(b.N), "apply-ms/op")
	b.ReportMetric(ours.Seconds()/bare.Seconds(), "ratio")
}

// BenchmarkPlanOfNothing plans 110 objects that have not changed.
func BenchmarkPlanOfNothing(b *testing.B) {
	server := kubetest.Start(b, "bench")[0]
	s := newScene(b, server, open(b, server), "bench")
	s.sync(b, documents(0)...)
	bundle := s.bundle(b, documents(0)...)
	for b.Loop() {
		plan, err := s.tryPlan(b, bundle)
		require.NoError(b, err)
		require.Equal(b, 110, plan.Unchanged)
	}
}

// decode returns the very objects that a plan applies.
func decode(b testing.TB, plan kube.Plan) []*unstructured.Unstructured {
	b.Helper()
	var objects []*unstructured.Unstructured
	for _, group := range plan.Steps[0].Groups {
		for _, o := range group {
			u := &unstructured.Unstructured{}
			require.NoError(b, json.Unmarshal(o.Content, &u.Object))
			objects = append(objects, u)
		}
	}
	return objects
}

// bareLoopIn applies objects as the shortest program would.
func bareLoopIn(b testing.TB, server *kubetest.Region, namespace string) func([]*unstructured.Unstructured) {
	b.Helper()
	client, err := dynamic.NewForConfig(server.Config)
	require.NoError(b, err)
	return func(objects []*unstructured.Unstructured) {
		b.Helper()
		var group errgroup.Group
		group.SetLimit(8)
		for _, u := range objects {
			resource := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
			if u.GetKind() == "Deployment" {
				resource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
			}
			group.Go(func() error {
				_, err := client.Resource(resource).Namespace(namespace).Apply(b.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: kube.FieldManager, Force: true})
				return err
			})
		}
		require.NoError(b, group.Wait())
	}
}
