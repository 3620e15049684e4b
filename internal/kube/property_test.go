package kube_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/kube/kubetest"
)

// bundles is how many made-up bundles are delivered.
const bundles = 40

// Whatever is delivered, however it is spelled and in whatever manner it is written:
// right after there is nothing to do, and after a change of it neither.
func TestAfterASyncThereIsNothingToDo(t *testing.T) {
	server := kubetest.Start(t, "any")[0]
	region := open(t, server)
	two := rapid.Custom(func(t *rapid.T) [2][]map[string]any {
		names := rapid.IntRange(1, 6).Draw(t, "objects")
		return [2][]map[string]any{madeUp(t, names), madeUp(t, names)}
	})
	for n := range bundles {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s := newScene(t, server, region, fmt.Sprintf("any-%d", n))
			for _, objects := range two.Example(n) {
				var bundle []string
				for _, o := range objects {
					text, err := json.Marshal(o)
					require.NoError(t, err)
					bundle = append(bundle, string(text))
				}
				plan := s.plan(t, bundle...)
				s.epoch++
				for i, step := range plan.Steps {
					applied, err := s.apply(t, plan, i)
					require.NoError(t, err)
					require.Empty(t, applied.Failures, "%s", bundle)
					if step.Phase == gitops.Prune {
						outcome, err := s.region.Wait(t.Context(), kube.WaitInput{Plan: plan, Step: i, Records: applied.Records, Deadline: soon})
						require.NoError(t, err)
						require.Empty(t, outcome.Issues)
					}
				}
				require.Empty(t, s.actions(s.plan(t, bundle...)), "%s", bundle)
				fresh := *s
				fresh.region = openWith(t, server, func(o *kube.Settings) { o.Version = "fresh" })
				require.Empty(t, fresh.actions(fresh.plan(t, bundle...)), "by a worker that remembers nothing: %s", bundle)
			}
		})
	}
}

// madeUp are objects of many kinds with many spellings of the same values.
func madeUp(t *rapid.T, n int) []map[string]any {
	kinds := []func(*rapid.T) map[string]any{configMap, secret, service, deployment, role, policy, budget, cronJob, ingress, volumeClaim}
	objects := make([]map[string]any, 0, n)
	for i := range n {
		o := kinds[i%len(kinds)](t)
		if i >= len(kinds) || rapid.Bool().Draw(t, "another") {
			o = rapid.SampledFrom(kinds).Draw(t, "kind")(t)
		}
		metadata := map[string]any{"name": fmt.Sprintf("%s-%d", strings.ToLower(o["kind"].(string)), i)}
		if labels := texts(t, "labels"); len(labels) > 0 {
			metadata["labels"] = labels
		}
		if manner := manners(o["kind"].(string)).Draw(t, "manner"); manner != "" {
			metadata["annotations"] = map[string]any{"argocd.argoproj.io/sync-options": manner}
		}
		o["metadata"] = metadata
		objects = append(objects, o)
	}
	return objects
}

// manners are the ways to write an object. What has fields that others fill in, and
// that cannot be changed after, is applied only.
func manners(kind string) *rapid.Generator[string] {
	switch kind {
	case "ConfigMap", "Secret", "Deployment", "Role", "CronJob":
		return rapid.SampledFrom([]string{"", "", "", "Replace=true", "ServerSideApply=false", "Force=true", "Force=true,Replace=true"})
	default:
		return rapid.Just("")
	}
}

func word(t *rapid.T, label string) string {
	return rapid.StringMatching(`[a-z][a-z0-9]{0,8}`).Draw(t, label)
}

func texts(t *rapid.T, label string) map[string]any {
	m := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, label) {
		m[word(t, "key")] = rapid.SampledFrom([]string{"", "a", "true", "1", "x-y.z"}).Draw(t, "value")
	}
	return m
}

func configMap(t *rapid.T) map[string]any {
	o := map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}
	if data := texts(t, "data"); len(data) > 0 || rapid.Bool().Draw(t, "empty") {
		o["data"] = data
	}
	return o
}

func secret(t *rapid.T) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Secret", "stringData": texts(t, "stringData"),
		"data": map[string]any{word(t, "key"): rapid.SampledFrom([]string{"", "YQ==", "aGVsbG8="}).Draw(t, "value")},
	}
}

func service(t *rapid.T) map[string]any {
	var ports []any
	for i := range rapid.IntRange(1, 3).Draw(t, "ports") {
		p := map[string]any{"name": fmt.Sprintf("p%d", i), "port": 80 + i}
		if rapid.Bool().Draw(t, "target") {
			p["targetPort"] = rapid.SampledFrom([]any{8080, "http"}).Draw(t, "targetPort")
		}
		if rapid.Bool().Draw(t, "protocol") {
			p["protocol"] = rapid.SampledFrom([]string{"TCP", "UDP"}).Draw(t, "protocol")
		}
		ports = append(ports, p)
	}
	return map[string]any{"apiVersion": "v1", "kind": "Service", "spec": map[string]any{"ports": ports, "selector": map[string]any{"app": word(t, "app")}}}
}

func quantity(t *rapid.T) any {
	return rapid.SampledFrom([]any{"1", 1, "0.5", "500m", "1000m", "1e3", "1.0", 2, "0.1"}).Draw(t, "quantity")
}

func deployment(t *rapid.T) map[string]any {
	var containers []any
	for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
		c := map[string]any{"name": fmt.Sprintf("c%d", i), "image": "registry.example/" + word(t, "image")}
		if rapid.Bool().Draw(t, "resources") {
			c["resources"] = map[string]any{"requests": map[string]any{"cpu": quantity(t), "memory": rapid.SampledFrom([]any{"1024Mi", "1Gi", "1073741824", 1000}).Draw(t, "memory")}}
		}
		if rapid.Bool().Draw(t, "env") {
			c["env"] = []any{map[string]any{"name": "A", "value": word(t, "value")}, map[string]any{"name": "B"}, map[string]any{"name": "C", "value": ""}}
		}
		if rapid.Bool().Draw(t, "args") {
			c["args"] = []any{"x", "x", word(t, "arg")}
		}
		if rapid.Bool().Draw(t, "ports") {
			c["ports"] = []any{map[string]any{"containerPort": 80}, map[string]any{"containerPort": 81, "protocol": "UDP"}}
		}
		containers = append(containers, c)
	}
	spec := map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": "a"}},
		"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "a"}}, "spec": map[string]any{"containers": containers}},
	}
	if rapid.Bool().Draw(t, "replicas") {
		spec["replicas"] = rapid.IntRange(0, 2).Draw(t, "replicas")
	}
	return map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
}

func role(t *rapid.T) map[string]any {
	var rules []any
	for range rapid.IntRange(1, 3).Draw(t, "rules") {
		rules = append(rules, map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{rapid.SampledFrom([]string{"get", "list"}).Draw(t, "verb")}})
	}
	return map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": rules}
}

func policy(t *rapid.T) map[string]any {
	spec := map[string]any{"podSelector": map[string]any{}}
	if rapid.Bool().Draw(t, "ingress") {
		spec["ingress"] = []any{map[string]any{}, map[string]any{"ports": []any{map[string]any{"port": 80}}}}
	}
	return map[string]any{"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "spec": spec}
}

func budget(t *rapid.T) map[string]any {
	return map[string]any{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": map[string]any{
		"maxUnavailable": rapid.SampledFrom([]any{1, "50%"}).Draw(t, "maxUnavailable"), "selector": map[string]any{"matchLabels": map[string]any{"app": word(t, "app")}},
	}}
}

func cronJob(t *rapid.T) map[string]any {
	return map[string]any{"apiVersion": "batch/v1", "kind": "CronJob", "spec": map[string]any{
		"schedule": rapid.SampledFrom([]string{"@yearly", "0 0 1 1 *"}).Draw(t, "schedule"), "suspend": true,
		"jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "containers": []any{map[string]any{"name": "main", "image": "registry.example/" + word(t, "image")}},
		}}}},
	}}
}

func ingress(t *rapid.T) map[string]any {
	return map[string]any{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": map[string]any{"rules": []any{map[string]any{
		"host": word(t, "host") + ".example.com",
		"http": map[string]any{"paths": []any{map[string]any{"path": "/", "pathType": "Prefix", "backend": map[string]any{"service": map[string]any{"name": "a", "port": map[string]any{"number": 80}}}}}},
	}}}}
}

func volumeClaim(*rapid.T) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": map[string]any{"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "0.5Gi"}}}}
}
