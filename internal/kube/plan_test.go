package kube_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/kube/kubetest"
	"github.com/tidegate/tidegate/internal/manifest"
)

// TestRegion has all that leaves its region as it was. The servers are started
// once; every claim has a namespace of its own.
func TestRegion(t *testing.T) {
	server := kubetest.Start(t, "calm")[0]
	region := open(t, server)
	for name, claim := range map[string]func(*testing.T, *scene){
		"what-is-healthy-is-not-applied-again":        appliedOnce,
		"drift-is-found-object-by-object":             driftFound,
		"others-fields-are-no-drift":                  othersFields,
		"a-foreign-object-is-refused":                 foreignRefused,
		"another-targets-object-is-refused":           otherTargetRefused,
		"only-our-own-is-pruned":                      prunedOwn,
		"what-must-stay-is-kept":                      kept,
		"an-empty-bundle-deletes-nothing":             emptyBundle,
		"a-missing-namespace-is-created":              namespaceCreated,
		"an-older-rollout-is-fenced":                  fenced,
		"a-rollout-that-was-overtaken-stops":          overtaken,
		"what-appears-after-the-plan-is-not-taken":    createdMeanwhile,
		"a-step-can-be-repeated":                      repeated,
		"one-refused-object-does-not-stop-others":     refusedObject,
		"waves-are-steps":                             wavesAreSteps,
		"a-definition-comes-before-its-objects":       definitions,
		"a-degraded-object-ends-the-wait":             degraded,
		"a-deadline-names-what-it-waited-for":         deadline,
		"the-audit-log-tells-who-wrote":               auditLog,
		"an-object-made-anew-is-still-ours":           madeAnew,
		"a-lost-inventory-is-made-anew":               lostInventory,
		"a-large-inventory-is-split":                  splitInventory,
		"secrets-stay-secret":                         secretsStaySecret,
		"objects-move-between-targets-of-a-release":   objectsMove,
		"a-renamed-target-keeps-its-objects":          renamed,
		"a-definition-larger-than-an-annotation":      largeDefinition,
		"passing-errors-are-retried-until-they-pass":  retriedUntilItPasses,
		"an-unknown-field-is-refused-at-once":         unknownFieldRefused,
		"a-retry-starts-over":                         retryStartsOver,
		"a-hook-is-run-once":                          hookRunOnce,
		"the-end-of-a-hook-is-kept":                   hookEndKept,
		"a-hook-that-is-deleted-has-failed":           hookDeleted,
		"a-hook-that-vanishes-has-failed":             hookVanished,
		"a-hook-of-an-aborted-rollout-goes":           hookAborted,
		"nothing-is-written-once-the-context-ended":   stopped,
		"its-class-is-its-version-and-what-it-serves": classKnown,
	} {
		t.Run(name, func(t *testing.T) { claim(t, newScene(t, server, region, name)) })
	}
}

func appliedOnce(t *testing.T, s *scene) {
	plan := s.sync(t, settings, web)
	require.ElementsMatch(t, []string{"create ConfigMap $/settings", "create apps/Deployment $/web"}, s.actions(plan))
	deployment, err := s.server.Admin.AppsV1().Deployments(s.target.Namespace).Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 2, deployment.Status.AvailableReplicas)

	before := s.wrote(t)
	again := s.plan(t, settings, web)
	require.Empty(t, s.actions(again), "quantities in other spellings and defaults are no difference")
	require.Equal(t, plan.Digest, again.Digest)
	require.Equal(t, 2, again.Unchanged)
	require.True(t, again.Summary("").Empty())
	s.deliver(t, again)
	require.Equal(t, before, s.wrote(t), "an empty plan writes nothing")

	fresh := *s
	fresh.region = open(t, s.server) // a worker that remembers nothing
	require.Empty(t, s.actions(fresh.plan(t, settings, web)))
}

func driftFound(t *testing.T, s *scene) {
	s.sync(t, settings, strings.ReplaceAll(settings, "settings", "other"), web)
	s.patch(t, "configmaps", "settings", `{"data":{"color":"red"}}`)
	plan := s.plan(t, settings, strings.ReplaceAll(settings, "settings", "other"), web)
	require.Equal(t, []string{"change ConfigMap $/settings"}, s.actions(plan))
	s.deliver(t, plan)
	cm, err := s.server.Admin.CoreV1().ConfigMaps(s.target.Namespace).Get(t.Context(), "settings", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "blue", cm.Data["color"])
	require.Empty(t, s.actions(s.plan(t, settings, strings.ReplaceAll(settings, "settings", "other"), web)))

	s.patch(t, "deployments", "web", `{"spec":{"replicas":3}}`)
	require.Equal(t, []string{"change apps/Deployment $/web"}, s.actions(s.plan(t, settings, strings.ReplaceAll(settings, "settings", "other"), web)))

	require.NoError(t, s.server.Admin.CoreV1().ConfigMaps(s.target.Namespace).Delete(t.Context(), "other", metav1.DeleteOptions{}))
	require.Contains(t, s.actions(s.plan(t, settings, strings.ReplaceAll(settings, "settings", "other"), web)), "create ConfigMap $/other")
}

func othersFields(t *testing.T, s *scene) {
	s.sync(t, settings, web)
	s.patch(t, "configmaps", "settings", `{"metadata":{"labels":{"team":"x"}},"data":{"added":"by hand"}}`)
	s.patch(t, "deployments", "web", `{"metadata":{"annotations":{"note":"x"}},"spec":{"revisionHistoryLimit":3}}`)
	require.Empty(t, s.actions(s.plan(t, settings, web)))
	require.Equal(t, []string{"change ConfigMap $/settings"}, s.actions(s.plan(t, strings.ReplaceAll(settings, "blue", "green"), web)))
}

func foreignRefused(t *testing.T, s *scene) {
	_, err := s.server.Admin.CoreV1().ConfigMaps(s.target.Namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = s.tryPlan(t, s.bundle(t, settings, web))
	require.ErrorIs(t, err, kube.ErrRefused)
	require.ErrorContains(t, err, "ConfigMap "+s.target.Namespace+"/settings: it exists and is not managed by Tidegate; to take it over, give it")
	require.NotContains(t, err.Error(), "Deployment")

	many := make([]string, 0, 20) // enough of them to be found by a list
	for i := range 20 {
		name := fmt.Sprintf("item-%d", i)
		_, err := s.server.Admin.CoreV1().ConfigMaps(s.target.Namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
		many = append(many, strings.ReplaceAll(settings, "settings", name))
	}
	_, err = s.tryPlan(t, s.bundle(t, many...))
	require.ErrorIs(t, err, kube.ErrRefused)
	require.ErrorContains(t, err, "and 10 more")
}

func otherTargetRefused(t *testing.T, s *scene) {
	s.sync(t, settings)
	other := *s
	other.target.Name = "somebody-else"
	_, err := other.tryPlan(t, s.bundle(t, settings))
	require.ErrorIs(t, err, kube.ErrRefused)
	require.ErrorContains(t, err, "it is tracked by target "+s.target.Name)
}

func prunedOwn(t *testing.T, s *scene) {
	documents := []string{settings, web, strings.ReplaceAll(settings, "settings", "old")}
	for _, name := range []string{"a", "b", "c"} {
		documents = append(documents, strings.ReplaceAll(settings, "settings", name))
	}
	s.sync(t, documents...)
	_, err := s.server.Admin.CoreV1().ConfigMaps(s.target.Namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "foreign", Labels: map[string]string{manifest.LabelManaged: "true"},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)

	documents = append(documents[:2:2], documents[3:]...)
	plan := s.plan(t, documents...)
	require.Equal(t, []string{"prune ConfigMap $/old"}, s.actions(plan))
	require.Empty(t, plan.PruneNeedsApproval, "one of six")
	require.Equal(t, gitops.Prune, plan.Steps[len(plan.Steps)-1].Phase)
	require.Equal(t, gitops.Healthy, s.deliver(t, plan).Health)
	_, err = s.server.Admin.CoreV1().ConfigMaps(s.target.Namespace).Get(t.Context(), "old", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = s.server.Admin.CoreV1().ConfigMaps(s.target.Namespace).Get(t.Context(), "foreign", metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, s.actions(s.plan(t, documents...)))

	plan = s.plan(t, settings)
	require.Len(t, s.actions(plan), 4)
	require.Equal(t, "it deletes 4 of 5 objects", plan.PruneNeedsApproval)
	require.Equal(t, gitops.Healthy, s.deliver(t, plan).Health, "a Deployment is waited for until it is gone")
	_, err = s.server.Admin.AppsV1().Deployments(s.target.Namespace).Get(t.Context(), "web", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

func kept(t *testing.T, s *scene) {
	stays := strings.ReplaceAll(settings, "{name: settings}", "{name: stays, annotations: {argocd.argoproj.io/sync-options: Prune=false}}")
	s.sync(t, settings, stays, strings.ReplaceAll(settings, "settings", "old"))
	plan := s.plan(t, settings)
	require.Equal(t, []string{"prune ConfigMap $/old"}, s.actions(plan))
	require.Len(t, plan.Kept, 1)
	require.Equal(t, "ConfigMap "+s.target.Namespace+"/stays", plan.Kept[0].Object)

	s.target.SyncPolicy.Prune = false
	plan = s.plan(t, settings)
	require.Empty(t, s.actions(plan))
	require.Len(t, plan.Kept, 2)
	require.Equal(t, "prune is disabled", plan.Kept[0].Message)
}

func emptyBundle(t *testing.T, s *scene) {
	s.sync(t, settings, strings.ReplaceAll(settings, "settings", "other"))
	_, err := s.tryPlan(t, []byte("[]"))
	require.ErrorIs(t, err, kube.ErrRefused)
	require.ErrorContains(t, err, "the bundle is empty, which would delete all 2 objects")
	s.target.SyncPolicy.AllowEmpty = true
	plan := s.plan(t)
	require.Len(t, s.actions(plan), 2)
	require.Equal(t, "it deletes all 2 objects of the target", plan.PruneNeedsApproval)
}

func namespaceCreated(t *testing.T, s *scene) {
	s.target.Namespace += "-new"
	_, err := s.tryPlan(t, s.bundle(t, settings))
	require.NoError(t, err, "the region will say that the namespace is missing")
	s.target.SyncPolicy.Options = []string{"CreateNamespace=true"}
	s.target.SyncPolicy.NamespaceLabels = map[string]string{"level": "baseline"}
	plan := s.sync(t, settings)
	require.Equal(t, []string{"create Namespace " + s.target.Namespace, "create ConfigMap $/settings"}, s.actions(plan))
	require.Empty(t, s.actions(s.plan(t, settings)))

	neighbour := *s
	neighbour.target.Name += "-2"
	neighbour.target.SyncPolicy.NamespaceLabels = map[string]string{"owner": "us"}
	neighbour.sync(t, strings.ReplaceAll(settings, "settings", "theirs"))
	require.Empty(t, s.actions(s.plan(t, settings)), "a shared namespace has both targets' labels")
	ns, err := s.server.Admin.CoreV1().Namespaces().Get(t.Context(), s.target.Namespace, metav1.GetOptions{})
	require.NoError(t, err)
	require.Subset(t, ns.Labels, map[string]string{"level": "baseline", "owner": "us"})

	s.target.SyncPolicy.AllowEmpty = true
	require.Equal(t, []string{"prune ConfigMap $/settings"}, s.actions(s.plan(t)), "the namespace is never pruned")
}

func wavesAreSteps(t *testing.T, s *scene) {
	first := strings.ReplaceAll(settings, "{name: settings}", "{name: first, annotations: {argocd.argoproj.io/sync-wave: \"-1\"}}")
	last := strings.ReplaceAll(web, "{name: web}", "{name: web, annotations: {argocd.argoproj.io/sync-wave: \"2\"}}")
	plan := s.sync(t, last, settings, first)
	require.Equal(t, []string{"create ConfigMap $/first", "create ConfigMap $/settings", "create apps/Deployment $/web"}, s.actions(plan))
	summary := plan.Summary("artifact")
	require.Equal(t, []gitops.Step{
		{Phase: gitops.Sync, Wave: -1, Apply: 1}, {Phase: gitops.Sync, Wave: 0, Apply: 1}, {Phase: gitops.Sync, Wave: 2, Apply: 1, Wait: 1},
	}, summary.Steps)

	require.Equal(t, []gitops.Step{{Phase: gitops.Sync, Wave: 2, Wait: 1}}, s.plan(t, last, settings, first).Summary("").Steps, "what there is to wait for is waited for")

	s.target.SyncPolicy.AllowEmpty = true
	var order []string
	for _, step := range s.plan(t).Steps {
		order = append(order, s.actions(kube.Plan{Steps: []kube.PlanStep{step}})...)
	}
	require.Equal(t, []string{"prune apps/Deployment $/web", "prune ConfigMap $/settings", "prune ConfigMap $/first"}, order, "deleted in the opposite order")
}

func definitions(t *testing.T, s *scene) {
	definition := `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tides.$name.example}
spec:
  group: $name.example
  scope: Namespaced
  names: {kind: Tide, plural: tides, singular: tide}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`
	tide := `
apiVersion: $name.example/v1
kind: Tide
metadata: {name: high}
spec: {metres: 3.5, hours: 6}
`
	plan := s.sync(t, tide, definition)
	require.Len(t, plan.Steps, 1)
	require.Empty(t, s.actions(s.plan(t, tide, definition)))

	plan = s.plan(t, definition)
	require.Len(t, s.actions(plan), 1)
	s.target.SyncPolicy.AllowEmpty = true
	require.Equal(t, "it deletes apiextensions.k8s.io/CustomResourceDefinition tides."+s.target.Name+".example", s.plan(t).PruneNeedsApproval)
	require.Equal(t, gitops.Healthy, s.deliver(t, s.plan(t)).Health)
	_, err := s.tryPlan(t, s.bundle(t, tide))
	require.ErrorIs(t, err, manifest.ErrInvalid)
	require.ErrorContains(t, err, "the region serves no Tide of "+s.target.Name+".example/v1")
}

func madeAnew(t *testing.T, s *scene) {
	s.sync(t, settings)
	maps := s.server.Admin.CoreV1().ConfigMaps(s.target.Namespace)
	cm, err := maps.Get(t.Context(), "settings", metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, maps.Delete(t.Context(), "settings", metav1.DeleteOptions{}))
	cm.ResourceVersion, cm.UID, cm.ManagedFields = "", "", nil
	_, err = maps.Create(t.Context(), cm, metav1.CreateOptions{}) // as a restore from a backup does
	require.NoError(t, err)
	s.sync(t, settings)
	require.Empty(t, s.actions(s.plan(t, settings)))

	plan := s.plan(t, web)
	require.Contains(t, s.actions(plan), "prune ConfigMap $/settings")
	require.NoError(t, maps.Delete(t.Context(), "settings", metav1.DeleteOptions{}))
	_, err = maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.epoch++
	_, err = s.apply(t, plan, 0)
	require.NoError(t, err)
	applied, err := s.apply(t, plan, 1)
	require.NoError(t, err)
	require.Len(t, applied.Failures, 1, "it was made anew by somebody else since the plan")
	require.Contains(t, applied.Failures[0].Message, "made anew since the plan; it is left alone")
	_, err = maps.Get(t.Context(), "settings", metav1.GetOptions{})
	require.NoError(t, err)
}

func lostInventory(t *testing.T, s *scene) {
	s.sync(t, settings, web)
	require.NoError(t, s.server.Admin.CoreV1().ConfigMaps("tidegate-system").Delete(t.Context(), "inventory."+s.target.Name, metav1.DeleteOptions{}))
	require.Empty(t, actionsOf(s.plan(t), "prune"), "what no inventory names is not deleted")
	s.sync(t, settings, web)
	require.Empty(t, s.actions(s.plan(t, settings, web)))
	inv, err := s.region.Inventory(t.Context(), s.target.Name)
	require.NoError(t, err)
	require.Len(t, inv.Records, 2)
}

func splitInventory(t *testing.T, s *scene) {
	s.region = openWith(t, s.server, func(o *kube.Settings) { o.MaxPart = 300 })
	var documents []string
	for i := range 20 {
		documents = append(documents, strings.ReplaceAll(settings, "settings", fmt.Sprintf("item-%d", i)))
	}
	s.sync(t, documents...)
	require.Greater(t, s.inventoryObjects(t), 3)
	require.Empty(t, s.actions(s.plan(t, documents...)))
	inv, err := s.region.Inventory(t.Context(), s.target.Name)
	require.NoError(t, err)
	require.Len(t, inv.Records, 20)
	s.sync(t, append(documents, settings)...)
	require.Less(t, s.inventoryObjects(t), 20, "old parts are deleted")
	require.Empty(t, s.actions(s.plan(t, append(documents, settings)...)))
}

func (s *scene) inventoryObjects(t *testing.T) (n int) {
	t.Helper()
	list, err := s.server.Admin.CoreV1().ConfigMaps("tidegate-system").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, cm := range list.Items {
		require.LessOrEqual(t, len(cm.BinaryData["inventory.json.zst"]), 900)
		if cm.Annotations["tidegate.dev/target"] == s.target.Name {
			n++
		}
	}
	return n
}

// patch changes an object as somebody with kubectl would.
func (s *scene) patch(t *testing.T, resource, name, patch string) {
	t.Helper()
	api := s.server.Admin.CoreV1().RESTClient()
	if resource == "deployments" {
		api = s.server.Admin.AppsV1().RESTClient()
	}
	err := api.Patch(types.MergePatchType).Namespace(s.target.Namespace).Resource(resource).Name(name).Body([]byte(patch)).Do(t.Context()).Error()
	require.NoError(t, err)
}

const soon = 20 * time.Second

// neighbour is another target in the scene's namespace.
func (s *scene) neighbour(name string) *scene {
	other := *s
	other.target.Name = s.target.Name + "-" + name
	return &other
}

func objectsMove(t *testing.T, s *scene) {
	moving := strings.ReplaceAll(settings, "settings", "moving")
	s.sync(t, settings, moving)
	before := s.uid(t, "moving")
	other := s.neighbour("other")
	third := strings.ReplaceAll(settings, "settings", "third")

	giving, err := s.region.Plan(t.Context(), kube.PlanInput{
		Target: s.target, Bundle: s.bundle(t, settings), Digest: "1", MAC: mac,
		Siblings: []kube.Sibling{{Target: other.target, Bundle: other.bundle(t, moving, third)}},
	})
	require.NoError(t, err)
	require.Empty(t, s.actions(giving), "it is not pruned, although the other target is not there yet")
	require.Equal(t, "target "+other.target.Name+" takes it over", giving.Kept[0].Message)

	taking, err := s.region.Plan(t.Context(), kube.PlanInput{
		Target: other.target, Bundle: other.bundle(t, moving, third), Digest: "2", MAC: mac,
		Siblings: []kube.Sibling{{Target: s.target, Bundle: s.bundle(t, settings)}},
	})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"change ConfigMap $/moving", "create ConfigMap $/third"}, other.actions(taking))
	require.Equal(t, gitops.Healthy, other.deliver(t, roundTrip(t, taking)).Health)
	require.Equal(t, before, s.uid(t, "moving"))
	require.Empty(t, s.actions(s.plan(t, settings)), "it is forgotten where it was")
	require.Equal(t, before, s.uid(t, "moving"))
}

func renamed(t *testing.T, s *scene) {
	s.sync(t, settings)
	before := s.uid(t, "settings")
	renamed := s.neighbour("renamed")
	_, err := renamed.tryPlan(t, renamed.bundle(t, settings))
	require.ErrorIs(t, err, kube.ErrRefused)
	renamed.target.RenamedFrom = s.target.Name
	renamed.sync(t, settings)
	require.Equal(t, before, s.uid(t, "settings"))
	require.Empty(t, renamed.actions(renamed.plan(t, settings)))
}

func (s *scene) uid(t *testing.T, configMap string) types.UID {
	t.Helper()
	object, err := s.server.Admin.CoreV1().ConfigMaps(s.target.Namespace).Get(t.Context(), configMap, metav1.GetOptions{})
	require.NoError(t, err)
	return object.UID
}
