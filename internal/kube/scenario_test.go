package kube_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/kube/kubetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A scenario is an archive of what happens, one thing a file, in a namespace of its
// own that is written as $name:
//
//	target.yaml               the target's sync policy
//	sync                      a bundle is planned and delivered
//	plan                      a bundle is planned
//	only RESOURCE             the sync after it is of those objects only, in the form of tidegate sync --resource; or of prune
//	retire                    the target is deleted, whose last bundle was this
//	preflight                 it is planned, and the plan tried out
//	patch RESOURCE NAME       somebody else patches an object (a merge patch)
//	create RESOURCE [AS]      somebody else makes one, as that field manager
//	delete RESOURCE NAME      somebody else deletes one
//	until RESOURCE NAME PATH VALUE   one is made until it is made so
//	status RESOURCE NAME      somebody else patches the status
//	deadline DURATION         is how long waits take from now on
//	uid RESOURCE NAME         which one of those that have had this name is it?
//	show RESOURCE NAME PATH   a field is looked at
//
// The golden file tells what Tidegate did, and what was there in the end.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	server := kubetest.Start(t, "stage")[0]
	region := open(t, server)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			p := &play{scene: newScene(t, server, region, name)}
			for _, act := range archive.Files {
				p.act(t, strings.Fields(act.Name), string(act.Data))
			}
			p.say("left in the namespace:")
			p.objects(t)
			golden := strings.TrimSuffix(file, ".txtar") + ".golden"
			got := strings.ReplaceAll(p.text.String(), name, "$name")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

// play is a scenario being played.
type play struct {
	*scene
	text strings.Builder
	uids []string // seen by uid, in order
}

func (p *play) say(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }

func (p *play) act(t *testing.T, words []string, body string) {
	t.Helper()
	body = strings.ReplaceAll(body, "$name", p.target.Name)
	if words[0] != "target.yaml" {
		p.say("%s", strings.Join(words, " "))
	}
	switch words[0] {
	case "target.yaml":
		require.NoError(t, yaml.UnmarshalStrict([]byte(body), &struct {
			*gitops.SyncPolicy
			Adopt  *bool                `json:"adopt"`
			Ignore *[]gitops.IgnoreRule `json:"ignore"`
			Health *[]gitops.HealthRule `json:"health"`
		}{&p.target.SyncPolicy, &p.target.Adopt, &p.target.Ignore, &p.health}))
	case "sync":
		if plan, ok := p.tell(t, body); ok {
			p.carryOut(t, plan)
		}
		p.scope = gitops.SyncScope{}
	case "only":
		for _, word := range words[1:] {
			p.scope.Resources = append(p.scope.Resources, strings.ReplaceAll(word, "$name", p.target.Name))
		}
		if p.scope.Prune = slices.Contains(words, "prune"); p.scope.Prune {
			p.scope.Resources = nil
		}
	case "plan":
		p.tell(t, body)
	case "retire":
		p.deletedBy = p.claim().Delivery
		if plan, ok := p.tell(t, body); ok {
			p.carryOut(t, plan)
		}
		p.deletedBy = ""
		inventory, err := p.region.Inventory(t.Context(), p.target.Name)
		require.NoError(t, err)
		p.say("  left in the inventory: %d", len(inventory.Records))
	case "preflight":
		p.preflight = true
		p.tell(t, body)
		p.preflight = false
	case "patch":
		_, err := p.dynamic(t, words[1]).Patch(t.Context(), words[2], types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: "somebody"})
		require.NoError(t, err)
	case "create":
		var object unstructured.Unstructured
		require.NoError(t, yaml.Unmarshal([]byte(body), &object.Object))
		_, err := p.dynamic(t, words[1]).Create(t.Context(), &object, metav1.CreateOptions{FieldManager: append(words, "somebody")[2]})
		require.NoError(t, err)
	case "until":
		p.until(t, words, body)
	case "deadline":
		p.deadline, _ = time.ParseDuration(words[1])
	case "status":
		_, err := p.dynamic(t, words[1]).Patch(t.Context(), words[2], types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: "somebody"}, "status")
		require.NoError(t, err)
	case "uid":
		object, err := p.dynamic(t, words[1]).Get(t.Context(), words[2], metav1.GetOptions{})
		require.NoError(t, err)
		p.uids = append(p.uids, string(object.GetUID()))
		p.say("  it is number %d of its name", len(slices.Compact(slices.Clone(p.uids))))
	case "show":
		object, err := p.dynamic(t, words[1]).Get(t.Context(), strings.ReplaceAll(words[2], "$name", p.target.Name), metav1.GetOptions{})
		require.NoError(t, err)
		value, _, err := unstructured.NestedFieldNoCopy(object.Object, strings.Split(words[3], ".")...)
		require.NoError(t, err)
		text, err := yaml.Marshal(value)
		require.NoError(t, err)
		p.say("  %s", strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n  "))
	case "delete":
		require.NoError(t, p.dynamic(t, words[1]).Delete(t.Context(), words[2], metav1.DeleteOptions{}))
	default:
		t.Fatalf("unknown act %q", words[0])
	}
}

// until makes an object again and again until a field of it is as it should be, as
// when a policy takes effect after a while.
func (p *play) until(t *testing.T, words []string, body string) {
	t.Helper()
	var object unstructured.Unstructured
	require.NoError(t, yaml.Unmarshal([]byte(body), &object.Object))
	require.Eventually(t, func() bool {
		made, err := p.dynamic(t, words[1]).Create(t.Context(), &object, metav1.CreateOptions{})
		require.NoError(t, err)
		require.NoError(t, p.dynamic(t, words[1]).Delete(t.Context(), words[2], metav1.DeleteOptions{}))
		value, _, _ := unstructured.NestedString(made.Object, strings.Split(words[3], ".")...)
		return value == words[4]
	}, soon, 50*time.Millisecond)
}

// tell plans and says what the plan is, or why there is none.
func (p *play) tell(t *testing.T, body string) (kube.Plan, bool) {
	t.Helper()
	plan, err := p.tryPlan(t, p.bundle(t, body))
	if err != nil {
		p.say("  no plan: %s", err)
		return plan, false
	}
	for _, step := range plan.Steps {
		p.say("  %s wave %d", step.Phase, step.Wave)
		for _, group := range step.Groups {
			for _, o := range group {
				p.say("    %s", describe(o))
				for _, f := range o.Fields {
					p.say("      %s", f)
				}
			}
		}
	}
	for _, kept := range plan.Kept {
		p.say("  stays: %s: %s", kept.Object, kept.Message)
	}
	if plan.PruneNeedsApproval != "" {
		p.say("  needs an approval: %s", plan.PruneNeedsApproval)
	}
	if len(plan.Steps) == 0 {
		p.say("  nothing to do")
	}
	return roundTrip(t, plan), true
}

func describe(o kube.PlannedObject) string {
	line := fmt.Sprintf("%s %s", o.Action, o.Key)
	if o.Reason != "" {
		line += ": " + o.Reason
	}
	if o.Unchecked != "" {
		line += " (not tried: " + o.Unchecked + ")"
	}
	return line
}

// carryOut delivers a plan and says how it ended.
func (p *play) carryOut(t *testing.T, plan kube.Plan) {
	t.Helper()
	outcome := p.deliver(t, plan)
	p.say("  => %s", outcome.Health)
	for _, issue := range outcome.Issues {
		p.say("     %s", strings.TrimSpace(fmt.Sprintf("%s %s: %s", issue.Health, issue.Object, issue.Message)))
	}
}

// shown are the resources that a scenario looks at in the end.
var shown = map[string]schema.GroupVersionResource{}

func init() {
	for version, resources := range map[string]string{
		"v1": "configmaps secrets services serviceaccounts persistentvolumeclaims pods namespaces", "apps/v1": "deployments statefulsets replicasets", "batch/v1": "jobs cronjobs",
	} {
		gv, _ := schema.ParseGroupVersion(version)
		for resource := range strings.FieldsSeq(resources) {
			shown[resource] = gv.WithResource(resource)
		}
	}
}

// dynamic is the client of a resource: one of those shown, or group/version/resource.
// With a ! in front it is one outside of namespaces.
func (p *play) dynamic(t *testing.T, resource string) dynamic.ResourceInterface {
	t.Helper()
	resource, clusterScoped := strings.CutPrefix(resource, "!")
	gvr, ok := shown[resource]
	if parts := strings.Split(resource, "/"); !ok {
		require.Len(t, parts, 3, "what is the resource %s?", resource)
		gvr = schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}
	}
	if clusterScoped {
		return p.server.Dynamic.Resource(gvr)
	}
	return p.server.Dynamic.Resource(gvr).Namespace(p.target.Namespace)
}

func (p *play) objects(t *testing.T) {
	t.Helper()
	for _, resource := range slices.Sorted(maps.Keys(shown)) {
		if resource == "namespaces" {
			continue
		}
		for _, o := range p.settled(t, resource) {
			if owners := o.GetOwnerReferences(); len(owners) > 0 || o.GetName() == "kube-root-ca.crt" {
				continue
			}
			line := resource + " " + o.GetName()
			if o.GetDeletionTimestamp() != nil {
				line += ", being deleted"
			}
			if f := o.GetFinalizers(); len(f) > 0 {
				line += ", held by " + strings.Join(f, " ")
			}
			p.say("  %s", line)
		}
	}
}

// settled lists what there is when deletions that nothing holds up are done.
func (p *play) settled(t *testing.T, resource string) (items []unstructured.Unstructured) {
	t.Helper()
	require.Eventually(t, func() bool {
		list, err := p.dynamic(t, resource).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		items = list.Items
		return !slices.ContainsFunc(items, func(o unstructured.Unstructured) bool {
			return o.GetDeletionTimestamp() != nil && (len(o.GetFinalizers()) == 0 || slices.Equal(o.GetFinalizers(), []string{metav1.FinalizerDeleteDependents}))
		})
	}, soon, 10*time.Millisecond)
	return items
}

// deliver carries out a whole plan, as the next rollout, the way that a workflow
// does, and returns how it ended.
func (s *scene) deliver(t testing.TB, plan kube.Plan) kube.Outcome {
	t.Helper()
	s.epoch++
	outcome := kube.Outcome{Health: gitops.Healthy}
	for i, step := range plan.Steps {
		failed := outcome.Health != gitops.Healthy
		if failed == (step.Phase == gitops.SyncFail) {
			if o := s.walk(t, plan, i); !failed {
				outcome = o
			}
		}
	}
	if plan.RunsHooks || plan.Deletes {
		require.NoError(t, s.region.Finish(t.Context(), kube.FinishInput{Plan: plan, Claim: s.claim(), Delivered: outcome.Health == gitops.Healthy}))
	}
	return outcome
}

func (s *scene) walk(t testing.TB, plan kube.Plan, i int) kube.Outcome {
	t.Helper()
	applied, err := s.apply(t, plan, i)
	require.NoError(t, err)
	if len(applied.Failures) > 0 {
		return kube.Outcome{Health: gitops.Degraded, Issues: applied.Failures}
	}
	outcome, err := s.region.Wait(t.Context(), kube.WaitInput{Plan: plan, Step: i, Records: applied.Records, Deadline: cmp.Or(s.deadline, soon)})
	require.NoError(t, err)
	return outcome
}
