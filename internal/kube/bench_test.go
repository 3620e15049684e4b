package kube_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/tidegate/tidegate/internal/gitops"
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

// BenchmarkStep changes 110 objects: by a bare loop of server-side applies, eight
// in flight, which is the least that it can cost; by an apply of a plan; and with
// the plan and the wait included. What an unchanged bundle costs comes last.
func BenchmarkStep(b *testing.B) {
	server := kubetest.Start(b, "bench")[0]
	region := open(b, server)
	s := newScene(b, server, region, "bench")
	s.sync(b, documents(0)...)
	generation := 0

	b.Run("bare loop", func(b *testing.B) {
		loop := bareLoop(b, server)
		for b.Loop() {
			b.StopTimer()
			generation++
			texts := documents(generation)
			b.StartTimer()
			loop(b, texts)
		}
	})
	b.Run("apply", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			generation++
			s.epoch++
			plan := s.plan(b, documents(generation)...)
			b.StartTimer()
			applied, err := s.apply(b, plan, 0)
			require.NoError(b, err)
			require.Equal(b, 110, applied.Applied)
		}
	})
	b.Run("plan, apply, wait", func(b *testing.B) {
		for b.Loop() {
			generation++
			require.Equal(b, gitops.Healthy, s.deliver(b, s.plan(b, documents(generation)...)).Health)
		}
	})
	b.Run("plan of nothing", func(b *testing.B) {
		bundle := s.bundle(b, documents(generation)...)
		for b.Loop() {
			plan, err := s.tryPlan(b, bundle)
			require.NoError(b, err)
			require.Equal(b, 110, plan.Unchanged)
		}
	})
}

// bareLoop applies objects as somebody would who writes the shortest program.
func bareLoop(b *testing.B, server *kubetest.Region) func(*testing.B, []string) {
	b.Helper()
	client, err := dynamic.NewForConfig(server.Config)
	require.NoError(b, err)
	return func(b *testing.B, texts []string) {
		b.StopTimer()
		objects := make([]*unstructured.Unstructured, 0, len(texts))
		for _, text := range texts {
			data, err := yaml.YAMLToJSON([]byte(text))
			require.NoError(b, err)
			u := &unstructured.Unstructured{}
			require.NoError(b, json.Unmarshal(data, &u.Object))
			objects = append(objects, u)
		}
		b.StartTimer()
		var group errgroup.Group
		group.SetLimit(8)
		for _, u := range objects {
			resource := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
			if u.GetKind() == "Deployment" {
				resource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
			}
			group.Go(func() error {
				_, err := client.Resource(resource).Namespace("bench").Apply(b.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: "tidegate", Force: true})
				return err
			})
		}
		require.NoError(b, group.Wait())
	}
}
