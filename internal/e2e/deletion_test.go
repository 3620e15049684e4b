package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/workflows"
)

// leaving is an application in two regions that one of them may have to leave, with
// hooks of a deletion that take two seconds each.
func leaving() files {
	f := hooked("1")
	f["app/before.yaml"] = strings.Replace(f["app/before.yaml"], "PreSync", "PreDelete", 1)
	f["app/after.yaml"] = strings.Replace(f["app/after.yaml"], "PostSync", "PostDelete", 1)
	return f
}

// declare replaces the catalog.
func (w *world) declare(catalog string) {
	w.t.Helper()
	w.write("catalog/catalog.yaml", catalog)
	_, err := w.api.RefreshCatalog(w.t.Context())
	require.NoError(w.t, err)
}

// untilDeletion waits until targets of the world wait at the gate of a deletion.
func (w *world) untilDeletion(what string, wanted func(workflows.RolloutStatus) bool) workflows.RolloutStatus {
	w.t.Helper()
	var status workflows.RolloutStatus
	w.until("the deletion "+what, func(ctx context.Context) (bool, any) {
		var state promotion.State
		if err := w.ask(ctx, workflows.DeliveryID(w.delivery()), workflows.QueryState, &state); err != nil || state.Deletion == nil {
			return false, state.Status()
		}
		err := w.ask(ctx, workflows.RolloutID(w.delivery(), gitops.DeletionStage, state.Deletion.Number), workflows.QueryStatus, &status)
		return err == nil && wanted(status), status
	})
	return status
}

func waitsForApproval(r workflows.RolloutStatus) bool { return r.Phase == gitops.PhaseWaiting }

// settings are the ConfigMaps of the application, and the inventories of its target.
func (w *world) settingsAndInventories(region string) (settings, inventories []corev1.ConfigMap) {
	w.t.Helper()
	list, err := w.kube(region).CoreV1().ConfigMaps(w.name).List(w.t.Context(), metav1.ListOptions{LabelSelector: "tidegate.dev/managed=true"})
	require.NoError(w.t, err)
	all, err := w.kube(region).CoreV1().ConfigMaps("tidegate-system").List(w.t.Context(), metav1.ListOptions{LabelSelector: "tidegate.dev/inventory"})
	require.NoError(w.t, err)
	for _, cm := range all.Items {
		if strings.HasPrefix(cm.Annotations["tidegate.dev/target"], w.name) {
			inventories = append(inventories, cm)
		}
	}
	return list.Items, inventories
}

func TestTargetsThatAreNoLongerDeclaredAreDeleted(t *testing.T) {
	w := newWorld(t, options{stages: []stage{{name: "dev", regions: []string{"dev-1"}}, {name: "rest", regions: []string{"staging-1", "staging-2"}}}})
	const region = "staging-1"
	all := pipelineCatalog(w)
	without := strings.Replace(all, "- clusters: {}", "- clusters: {}\n      selector: {matchExpressions: [{key: name, operator: NotIn, values: ["+region+"]}]}", 1)
	require.NotEqual(t, all, without)
	w.untilDelivered(w.push(leaving()))

	w.step("not before somebody has approved it", func(t *testing.T) {
		before := w.now()
		w.declare(without)
		waiting := w.untilDeletion("waits", waitsForApproval)
		require.Contains(t, waiting.Gates[0].Message, "deletes all 3 objects of 1 targets")
		require.Empty(t, w.writes(region, before))
		out, err := w.tidegate("get", "targets", w.delivery())
		require.NoError(t, err, out)
		require.Contains(t, out, gitops.DeletionStage)
	})

	w.step("and not when it comes back before that", func(t *testing.T) {
		before := w.now()
		w.declare(all)
		w.untilState("the deletion is closed, and all is delivered", func(s promotion.State) bool {
			return s.Deletion == nil && len(s.OpenRollouts()) == 0 && s.Status().Sync == gitops.Synced && len(s.Targets) == 3
		})
		require.Empty(t, withoutInventory(w.writes(region, before)))
	})

	w.step("a worker that is killed meanwhile deletes it, and runs each hook once", func(t *testing.T) {
		before := w.now()
		w.declare(without)
		w.untilDeletion("waits", waitsForApproval)
		out, err := w.tidegate("approve", w.delivery(), "--yes", "--by", "a release manager")
		require.NoError(t, err, out)
		w.untilJob(region, "before", "1", "is at work", isAtWork)
		w.killWorker()
		w.startWorker()
		w.untilJob(region, "after", "1", "is at work", isAtWork)
		w.killWorker()
		w.startWorker()
		w.untilState("it is deleted", func(s promotion.State) bool { return s.Deletion == nil && len(s.Leaving) == 0 })
		settings, inventories := w.settingsAndInventories(region)
		require.Empty(t, settings)
		require.Empty(t, inventories)
		require.Nil(t, w.job(t.Context(), region, "before", "1"))
		w.until("the last hook is gone", func(ctx context.Context) (bool, any) { return w.job(ctx, region, "after", "1") == nil, nil })
		require.Equal(t, []string{"create jobs/before", "create jobs/after"}, w.createdJobs(region, before))
		settings, _ = w.settingsAndInventories("dev-1")
		require.Len(t, settings, 2, "the other region is left alone")
	})

	w.step("what moves to another Delivery stays", func(t *testing.T) {
		before := w.now()
		w.declare(strings.ReplaceAll(without, "kind: Pipeline\nmetadata: {name: "+w.name+"}", "kind: Pipeline\nmetadata: {name: other}"))
		w.until("the new one has delivered", func(ctx context.Context) (bool, any) {
			var state promotion.State
			err := w.ask(ctx, workflows.DeliveryID("default/other"), workflows.QueryState, &state)
			return err == nil && isDelivered(state.Status(), w.repo.Head(), nil), state.Status()
		})
		w.untilDeliveryEnds(w.delivery())
		require.Empty(t, withoutInventory(w.writes("dev-1", before)))
	})

	w.step("a Delivery that goes is shown, and a rejection leaves its objects", func(t *testing.T) {
		before := w.now()
		w.declare("# nothing\n")
		w.until("the command shows what waits", func(context.Context) (bool, any) {
			out, err := w.tidegate("get")
			return err == nil && strings.Contains(out, "default/other") && strings.Contains(out, "a deletion waits"), out
		})
		w.until("the gate is there", func(context.Context) (bool, any) {
			out, err := w.tidegate("reject", "default/other", "--yes", "--by", "a release manager")
			return err == nil, out
		})
		w.untilDeliveryEnds("default/other")
		require.Empty(t, w.writes("dev-1", before))
		out, err := w.tidegate("get")
		require.NoError(t, err, out)
	})
}

// untilDeliveryEnds waits until a Delivery's workflow has completed.
func (w *world) untilDeliveryEnds(key string) {
	w.t.Helper()
	w.until("Delivery "+key+" has ended", func(ctx context.Context) (bool, any) {
		d, err := w.temporal.DescribeWorkflow(ctx, workflows.DeliveryID(key), "")
		return err == nil && d.Status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, err
	})
}

// createdJobs are the Jobs that were created in the world's namespace, in order.
func (w *world) createdJobs(region string, since moment) (jobs []string) {
	w.t.Helper()
	for _, e := range w.written(region, since) {
		if e.ResponseStatus.Code < 300 && e.ObjectRef.Namespace == w.name && e.ObjectRef.Resource == "jobs" && e.ObjectRef.Subresource == "" && e.Verb == "create" {
			jobs = append(jobs, "create jobs/"+e.ObjectRef.Name)
		}
	}
	return jobs
}
