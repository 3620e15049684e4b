package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// unpruned is the usual catalog, without pruning.
func unpruned(w *world) string {
	return strings.Replace(pipelineCatalog(w), "prune: true", "prune: false", 1)
}

func TestASyncOfSomeObjectsAndOneThatPrunes(t *testing.T) {
	w := newWorld(t, options{stages: gated, catalog: unpruned})
	app := web("example.com/web:1")
	app["app/settings.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: blue}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {color: blue}\n"
	approve := func(t *testing.T, commit string) {
		w.untilCandidate(commit)
		out, err := w.tidegate("approve", w.delivery(), "--yes", "--by", "a release manager")
		require.NoError(t, err, out)
	}
	first := w.push(app)
	approve(t, first)
	w.untilDelivered(first)
	paint := func(t *testing.T, name string) {
		_, err := w.kube("dev-1").CoreV1().ConfigMaps(w.name).Patch(t.Context(), name, types.MergePatchType, []byte(`{"data": {"color": "red"}}`), metav1.PatchOptions{FieldManager: "somebody"})
		require.NoError(t, err)
	}
	color := func(t *testing.T, name string) string {
		cm, err := w.kube("dev-1").CoreV1().ConfigMaps(w.name).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		return cm.Data["color"]
	}

	w.step("a dry run says what would change, field by field, and writes nothing", func(t *testing.T) {
		paint(t, "settings")
		paint(t, "more")
		before := w.now()
		out, err := w.tidegate("sync", w.delivery(), "--dry-run", "--resource", ":ConfigMap:settings")
		require.NoError(t, err, out)
		require.Contains(t, out, `.data.color: "red" -> "blue"`)
		require.NotContains(t, out, "ConfigMap "+w.name+"/more")
		w.requireNoWrites(before)
		require.Empty(t, w.state().OpenRollouts())
	})

	w.step("a sync of one object mends that one, without a gate", func(t *testing.T) {
		out, err := w.tidegate("sync", w.delivery(), "--resource", ":ConfigMap:settings", "--by", "ada")
		require.NoError(t, err, out)
		w.untilState("it is over", func(s promotion.State) bool { return len(s.OpenRollouts()) == 0 })
		require.Equal(t, "blue", color(t, "settings"))
		require.Equal(t, "red", color(t, "more"))
	})

	w.step("what nobody has is said", func(t *testing.T) {
		out, err := w.tidegate("sync", w.delivery(), "--dry-run", "--resource", "apps:Deployment:wbe")
		require.NoError(t, err, out)
		require.Contains(t, out, "no target has an object")
		out, err = w.tidegate("sync", w.delivery(), "--resource", "Deployment:web")
		require.Error(t, err)
		require.Contains(t, out, "write GROUP:KIND:NAME")
	})

	w.step("--prune prunes what the policy does not", func(t *testing.T) {
		second := w.push(files{"app/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: blue}\n"})
		approve(t, second)
		w.untilState("it is delivered, and something stays", func(s promotion.State) bool {
			return len(s.OpenRollouts()) == 0 && s.Status().Newest.Revision == second && s.Status().Sync == gitops.OutOfSync
		})
		out, err := w.tidegate("sync", w.delivery(), "--prune", "--target", w.name+"-dev-1", "--by", "ada")
		require.NoError(t, err, out)
		w.until("it is pruned in one region", func(ctx context.Context) (bool, any) {
			list, err := w.kube("dev-1").CoreV1().ConfigMaps(w.name).List(ctx, metav1.ListOptions{LabelSelector: "tidegate.dev/managed=true"})
			return err == nil && len(list.Items) == 1, err
		})
		list, err := w.kube("staging-1").CoreV1().ConfigMaps(w.name).List(t.Context(), metav1.ListOptions{LabelSelector: "tidegate.dev/managed=true"})
		require.NoError(t, err)
		require.Len(t, list.Items, 2)
	})
}
