package kube_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/kube/kubetest"
)

func fenced(t *testing.T, s *scene) {
	old := s.plan(t, settings)
	s.epoch = 7
	_, err := s.apply(t, s.plan(t, strings.ReplaceAll(settings, "blue", "new")), 0)
	require.NoError(t, err)

	before := s.wrote(t)
	s.epoch = 6
	_, err = s.apply(t, old, 0)
	require.ErrorIs(t, err, kube.ErrFenced)
	require.ErrorContains(t, err, s.target.Name+" is held by rollout=default/"+s.target.Name+"#7 step=0 attempt=1")

	s.epoch = 7
	retry := kube.ApplyInput{Plan: old, Claim: s.claim(), MAC: mac}
	retry.Claim.Attempt = 2
	_, err = s.region.Apply(t.Context(), retry)
	require.NoError(t, err, "a retry of the same rollout takes over")
	_, err = s.apply(t, old, 0)
	require.ErrorIs(t, err, kube.ErrFenced, "and the attempt before is fenced")
	require.Positive(t, s.wrote(t)-before)

	moved := s.claim()
	moved.Delivery, moved.Epoch = "default/other", 1
	_, err = s.region.Apply(t.Context(), kube.ApplyInput{Plan: old, Claim: moved, MAC: mac})
	require.NoError(t, err, "a target that has moved to another Delivery counts anew")
}

func overtaken(t *testing.T, s *scene) {
	plan := s.plan(t, settings, web)
	newer := s.plan(t, strings.ReplaceAll(settings, "blue", "newer"))
	in := kube.ApplyInput{Plan: plan, Claim: s.claim(), MAC: mac, Progress: func(string) {
		claim := s.claim()
		claim.Epoch++
		_, err := s.region.Apply(t.Context(), kube.ApplyInput{Plan: newer, Claim: claim, MAC: mac})
		require.NoError(t, err, "it has waited until the older one finds its proof too old")
	}}
	_, err := s.region.Apply(t.Context(), in)
	require.ErrorIs(t, err, kube.ErrFenced)
	require.Equal(t, 2, s.wroteObjects(t), "one ConfigMap by each, and no Deployment")
	inv, err := s.region.Inventory(t.Context(), s.target.Name)
	require.NoError(t, err)
	require.Equal(t, s.epoch+1, inv.Epoch)
}

func repeated(t *testing.T, s *scene) {
	plan := s.plan(t, settings, web)
	_, err := s.apply(t, plan, 0)
	require.NoError(t, err)
	versions := s.versions(t)

	again := kube.ApplyInput{Plan: plan, Claim: s.claim(), MAC: mac}
	again.Claim.Attempt = 2
	applied, err := s.region.Apply(t.Context(), again)
	require.NoError(t, err)
	require.Equal(t, 2, applied.Applied)
	require.Equal(t, versions, s.versions(t), "an object that is right already is not changed")
	require.Empty(t, s.actions(s.plan(t, settings, web)))
}

func createdMeanwhile(t *testing.T, s *scene) {
	plan := s.plan(t, settings)
	maps := s.server.Admin.CoreV1().ConfigMaps(s.target.Namespace)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"color": "theirs"}}
	_, err := maps.Create(t.Context(), theirs, metav1.CreateOptions{})
	require.NoError(t, err)
	applied, err := s.apply(t, plan, 0)
	require.NoError(t, err)
	require.Len(t, applied.Failures, 1)
	require.Contains(t, applied.Failures[0].Message, "it was created by somebody else since the plan")
	cm, err := maps.Get(t.Context(), "settings", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "theirs", cm.Data["color"])

	require.NoError(t, maps.Delete(t.Context(), "settings", metav1.DeleteOptions{}))
	again := kube.ApplyInput{Plan: plan, Claim: s.claim(), MAC: mac}
	_, err = s.region.Apply(t.Context(), again)
	require.NoError(t, err)
	s.patch(t, "configmaps", "settings", `{"data":{"color":"red"}}`)
	again.Claim.Attempt = 2
	applied, err = s.region.Apply(t.Context(), again)
	require.NoError(t, err)
	require.Empty(t, applied.Failures, "what an attempt before has created is ours")
	cm, err = maps.Get(t.Context(), "settings", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "blue", cm.Data["color"])
}

// versions are what changes with every write to the scene's ConfigMap.
func (s *scene) versions(t *testing.T) string {
	t.Helper()
	cm, err := s.server.Admin.CoreV1().ConfigMaps(s.target.Namespace).Get(t.Context(), "settings", metav1.GetOptions{})
	require.NoError(t, err)
	return string(cm.UID) + "@" + cm.ResourceVersion
}

func refusedObject(t *testing.T, s *scene) {
	bad := strings.ReplaceAll(web, "image: registry.example/web:1", "image: \"\"")
	plan := s.plan(t, settings, bad)
	applied, err := s.apply(t, plan, 0)
	require.NoError(t, err)
	require.Equal(t, 1, applied.Applied)
	require.Len(t, applied.Failures, 1)
	require.Equal(t, "apps/Deployment "+s.target.Namespace+"/web", applied.Failures[0].Object)
	require.Contains(t, applied.Failures[0].Message, "Invalid: ")
	require.Contains(t, applied.Failures[0].Message, "spec.template.spec.containers[0].image: Required value")
	require.Equal(t, []string{"create apps/Deployment $/web"}, s.actions(s.plan(t, settings, bad)), "only what failed is left to do")

	s.sync(t, settings, web)
	immutable := strings.ReplaceAll(web, "app: web", "app: other")
	s.epoch++
	applied, err = s.apply(t, s.plan(t, settings, immutable), 0)
	require.NoError(t, err)
	require.Len(t, applied.Failures, 1)
	require.Contains(t, applied.Failures[0].Message, "field is immutable")
}

func secretsStaySecret(t *testing.T, s *scene) {
	secret := `
apiVersion: v1
kind: Secret
metadata: {name: registry}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: "hunter2 is no JSON"}
`
	plan := s.plan(t, secret)
	applied, err := s.apply(t, plan, 0)
	require.NoError(t, err)
	require.Len(t, applied.Failures, 1)
	require.Contains(t, applied.Failures[0].Message, ".dockerconfigjson")
	require.NotContains(t, applied.Failures[0].Message, "hunter2")

	good := strings.ReplaceAll(strings.ReplaceAll(secret, "kubernetes.io/dockerconfigjson", "Opaque"), "hunter2 is no JSON", "hunter2")
	s.sync(t, good)
	require.Empty(t, s.actions(s.plan(t, good)))
	live, err := s.server.Admin.CoreV1().Secrets(s.target.Namespace).Get(t.Context(), "registry", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "hunter2", string(live.Data[".dockerconfigjson"]))
}

func stopped(t *testing.T, s *scene) {
	plan := s.plan(t, settings, web)
	ctx, cancel := context.WithCancel(t.Context())
	in := kube.ApplyInput{Plan: plan, Claim: s.claim(), MAC: mac, Progress: func(string) { cancel() }}
	_, err := s.region.Apply(ctx, in)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, s.wroteObjects(t), "the ConfigMap, and no Deployment after it")
	require.Equal(t, []string{"change ConfigMap $/settings", "create apps/Deployment $/web"}, s.actions(s.plan(t, settings, web)))
	s.sync(t, settings, web)
}

// wroteObjects is what was written outside the inventories.
func (s *scene) wroteObjects(t *testing.T) int {
	t.Helper()
	return len(s.server.Requests(t, func(r kubetest.Request) bool {
		return r.Writes() && r.Ref.Namespace == s.target.Namespace && strings.HasPrefix(r.Agent, "tidegate/")
	}))
}

func auditLog(t *testing.T, s *scene) {
	plan := s.plan(t, settings)
	ctx := kube.WithCaller(t.Context(), "rollout=default/shop/prod#12 attempt=3")
	_, err := s.region.Apply(ctx, kube.ApplyInput{Plan: plan, Claim: s.claim(), MAC: mac})
	require.NoError(t, err)
	requests := s.server.Requests(t, func(r kubetest.Request) bool { return r.Ref.Namespace == s.target.Namespace && r.Verb == "patch" })
	require.Len(t, requests, 1)
	require.Equal(t, "tidegate/test rollout=default/shop/prod#12 attempt=3", requests[0].Agent)
}

func degraded(t *testing.T, s *scene) {
	failing := strings.ReplaceAll(web, "metadata: {labels: {app: web}}", "metadata: {labels: {app: web}, annotations: {"+kubetest.FailAnnotation+": it crashes}}")
	failing = strings.ReplaceAll(failing, "  replicas: 2\n", "  replicas: 2\n  progressDeadlineSeconds: 1\n")
	outcome := s.deliver(t, s.plan(t, failing, strings.ReplaceAll(failing, "web", "web2"), settings))
	require.Equal(t, gitops.Degraded, outcome.Health)
	require.NotEmpty(t, outcome.Issues)
	require.Contains(t, outcome.Issues[0].Object, "apps/Deployment "+s.target.Namespace+"/web")
	require.Contains(t, outcome.Issues[0].Message, "exceeded its progress deadline")

	require.Equal(t, gitops.Healthy, s.deliver(t, s.plan(t, web, strings.ReplaceAll(web, "web", "web2"), settings)).Health, "the next release mends it")
}

func deadline(t *testing.T, s *scene) {
	failing := strings.ReplaceAll(web, "metadata: {labels: {app: web}}", "metadata: {labels: {app: web}, annotations: {"+kubetest.FailAnnotation+": it crashes}}")
	plan := s.plan(t, failing, settings)
	applied, err := s.apply(t, plan, 0)
	require.NoError(t, err)
	told := make(chan string, 100)
	outcome, err := s.region.Wait(t.Context(), kube.WaitInput{Plan: plan, Records: applied.Records, Deadline: 1500 * time.Millisecond, Progress: func(m string) { told <- m }})
	require.NoError(t, err)
	require.Equal(t, gitops.Progressing, outcome.Health)
	require.Len(t, outcome.Issues, 1)
	require.Equal(t, "apps/Deployment "+s.target.Namespace+"/web", outcome.Issues[0].Object)
	require.Contains(t, outcome.Issues[0].Message, "0 of 2 updated replicas are available; waited 2s, which is the deadline")
	require.Contains(t, <-told, "0 of 1 done after 1s; apps/Deployment "+s.target.Namespace+"/web 0 of 2")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.region.Wait(ctx, kube.WaitInput{Plan: plan, Records: applied.Records, Deadline: soon})
	require.ErrorIs(t, err, context.Canceled)
}

func unknownFieldRefused(t *testing.T, s *scene) {
	plan := s.plan(t, "{apiVersion: v1, kind: Service, metadata: {name: typo}, spec: {ports: [{port: 80, tagetPort: 1}]}}")
	applied, err := s.apply(t, plan, 0)
	require.NoError(t, err)
	require.Contains(t, applied.Failures[0].Message, "tagetPort: field not declared in schema")
	asked := s.server.Requests(t, func(r kubetest.Request) bool { return r.Ref.Name == "typo" && r.Writes() })
	require.Len(t, asked, 1, "it would be refused again, although the server calls it an error of its own")
}

// largeDefinition has more in it than kubectl's annotation would hold.
func largeDefinition(t *testing.T, s *scene) {
	group := s.target.Name + ".example.com"
	definition := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: giants.`+group+`}, spec: {group: `+group+`, names: {kind: Giant, plural: giants}, scope: Namespaced}}`), &definition))
	properties := map[string]any{}
	for i := range 300 {
		properties[fmt.Sprintf("field%d", i)] = map[string]any{"type": "string", "description": strings.Repeat("what it is for ", 70)}
	}
	definition["spec"].(map[string]any)["versions"] = []any{map[string]any{
		"name": "v1", "served": true, "storage": true,
		"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "properties": properties}}}},
	}}
	text, err := yaml.Marshal(definition)
	require.NoError(t, err)
	require.Greater(t, len(text), 262144)
	s.sync(t, string(text), `{apiVersion: `+group+`/v1, kind: Giant, metadata: {name: a}, spec: {field1: x}}`)
	require.Empty(t, s.actions(s.plan(t, string(text), `{apiVersion: `+group+`/v1, kind: Giant, metadata: {name: a}, spec: {field1: x}}`)))
}

// A webhook that is down for a while holds up what it is asked about, until it is
// gone, and nothing else.
func retriedUntilItPasses(t *testing.T, s *scene) {
	hooks := s.server.Admin.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := hooks.Create(t.Context(), &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: s.target.Name},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "down.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionv1.SideEffectClassNone), TimeoutSeconds: new(int32(1)),
			ClientConfig:      admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Name: "nobody", Namespace: s.target.Namespace}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": s.target.Namespace}},
			Rules:             []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{"CREATE"}, Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}},
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	remove := sync.OnceFunc(func() {
		require.NoError(t, hooks.Delete(t.Context(), s.target.Name, metav1.DeleteOptions{}))
	})
	var retried []string
	plan := s.plan(t, settings, web)
	applied, err := s.region.Apply(t.Context(), kube.ApplyInput{Plan: plan, Claim: s.claim(), MAC: mac, Deadline: time.Minute, Progress: func(m string) {
		if strings.Contains(m, "is retried") {
			retried = append(retried, m)
			remove()
		}
	}})
	require.NoError(t, err)
	require.Empty(t, applied.Failures)
	require.NotEmpty(t, retried)
	require.Contains(t, retried[0], "0 of 2 objects written; ConfigMap "+s.target.Namespace+"/settings is retried: InternalError: Internal error occurred: failed calling webhook")
}
