package kube_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/kube/kubetest"
)

// mac is a keyed digest as the artifact store's.
func mac(label string, data []byte) string {
	h := hmac.New(sha256.New, []byte("key of the test"))
	fmt.Fprintf(h, "%s\n", label)
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// scene is one target in one region.
type scene struct {
	server *kubetest.Region
	region *kube.Region
	target gitops.Target
	epoch  int
	// preflight tries plans out.
	preflight bool
	health    []gitops.HealthRule
	deadline  time.Duration // of waits
	deletedBy string        // of plans that delete the target
	scope     gitops.SyncScope
}

// open connects to a region as a worker does.
func open(t testing.TB, server *kubetest.Region) *kube.Region {
	t.Helper()
	return openWith(t, server, func(*kube.Settings) {})
}

func openWith(t testing.TB, server *kubetest.Region, change func(*kube.Settings)) *kube.Region {
	t.Helper()
	s := kube.Settings{Name: server.Name, Kubeconfig: server.Kubeconfig, Version: "test", Patience: 3 * time.Second}
	change(&s)
	region, err := kube.Open(t.Context(), s)
	require.NoError(t, err)
	t.Cleanup(region.Close)
	return region
}

// newScene has a target of its own in a namespace of its own, both named after
// the test.
func newScene(t testing.TB, server *kubetest.Region, region *kube.Region, name string) *scene {
	t.Helper()
	s := &scene{server: server, region: region, epoch: 1}
	s.target = gitops.Target{Name: name, Project: "default", Region: server.Name, Namespace: name}
	s.target.SyncPolicy = gitops.SyncPolicy{Automated: true, Prune: true}
	_, err := server.Admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return s
}

// bundle is a bundle of YAML documents; $name is the scene's name.
func (s *scene) bundle(t testing.TB, documents ...string) []byte {
	t.Helper()
	objects := []any{}
	for _, text := range documents {
		for doc := range strings.SplitSeq(text, "\n---\n") {
			var object map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(doc, "$name", s.target.Name)), &object))
			objects = append(objects, object)
		}
	}
	data, err := json.Marshal(objects)
	require.NoError(t, err)
	return data
}

func (s *scene) tryPlan(t testing.TB, bundle []byte) (kube.Plan, error) {
	t.Helper()
	return s.region.Plan(t.Context(), kube.PlanInput{Target: s.target, Bundle: bundle, Digest: mac("bundle", bundle), MAC: mac, Rollout: fmt.Sprintf("%s#%d", s.target.Name, s.epoch+1), Preflight: s.preflight, Health: s.health, DeletedBy: s.deletedBy, Scope: s.scope})
}

func (s *scene) plan(t testing.TB, documents ...string) kube.Plan {
	t.Helper()
	plan, err := s.tryPlan(t, s.bundle(t, documents...))
	require.NoError(t, err)
	return roundTrip(t, plan)
}

// roundTrip is what an artifact store does to a plan.
func roundTrip(t testing.TB, plan kube.Plan) (out kube.Plan) {
	t.Helper()
	data, err := json.Marshal(plan)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}

func (s *scene) claim() kube.Claim {
	return kube.Claim{Delivery: "default/" + s.target.Name, Epoch: s.epoch, Attempt: 1}
}

func (s *scene) apply(t testing.TB, plan kube.Plan, step int) (kube.Applied, error) {
	t.Helper()
	return s.region.Apply(t.Context(), kube.ApplyInput{Plan: plan, Step: step, Claim: s.claim(), MAC: mac})
}

// sync plans and delivers a bundle and requires it to become healthy.
func (s *scene) sync(t testing.TB, documents ...string) kube.Plan {
	t.Helper()
	plan := s.plan(t, documents...)
	outcome := s.deliver(t, plan)
	require.Equal(t, gitops.Healthy, outcome.Health, "%v", outcome.Issues)
	return plan
}

// wrote is what the scene's rollouts have written outside the inventories.
func (s *scene) wrote(t testing.TB) int {
	t.Helper()
	return len(s.server.Requests(t, func(r kubetest.Request) bool {
		return r.Writes() && strings.Contains(r.Agent, "rollout=default/"+s.target.Name+"#")
	}))
}

// actions tells a plan in short, with $ for the scene's namespace: "create
// ConfigMap $/a".
func (s *scene) actions(plan kube.Plan) []string {
	out := actionsOf(plan, "create", "change", "prune")
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], " "+s.target.Namespace+"/", " $/")
	}
	return out
}

func actionsOf(plan kube.Plan, kinds ...diff.Action) (out []string) {
	for _, step := range plan.Steps {
		for _, group := range step.Groups {
			for _, o := range group {
				if slices.Contains(kinds, o.Action) {
					out = append(out, fmt.Sprintf("%s %s", o.Action, o.Key))
				}
			}
		}
	}
	return out
}

const settings = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: blue}
`

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.example/web:1
        resources: {requests: {cpu: 1000m, memory: 1024Mi}, limits: {cpu: "0.5e1"}}
        ports: [{containerPort: 80}]
`
