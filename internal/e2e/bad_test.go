package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tidegate/tidegate/internal/git/gittest"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	wire "github.com/tidegate/tidegate/starter/api"
)

// mistake is an Application that cannot be delivered, and what its owner must be
// told.
type mistake struct {
	name, revision, path string
	files                files
	kind                 promotion.ConditionKind
	says                 []string
}

var mistakes = []mistake{
	{
		name: "no-branch", revision: "no-such-branch", path: "good",
		kind: promotion.RefMissing, says: []string{"no-such-branch"},
	},
	{
		name: "no-path", revision: "main", path: "no/such/folder",
		kind: promotion.RenderBroken, says: []string{"no/such/folder"},
	},
	{
		name: "no-yaml", revision: "main", path: "no-yaml", files: files{"no-yaml/broken.yaml": "kind: ConfigMap\n  name: [oops\n"},
		kind: promotion.RenderBroken, says: []string{"broken.yaml"},
	},
	{
		name: "no-overlay", revision: "main", path: "no-overlay",
		files: files{"no-overlay/kustomization.yaml": "resources: [absent.yaml]\n"},
		kind:  promotion.RenderBroken, says: []string{"absent.yaml"},
	},
}

func TestMistakesAreExplained(t *testing.T) {
	locked := gittest.NewServer(t)
	secret := locked.NewRepo("secret")
	secret.CommitFiles(web("example.com/web:1"), "first")
	secret.Push("main")
	locked.RequirePassword("robot", "a password of the tests")

	all := files(web("example.com/web:1"))
	w := newWorld(t, options{stages: []stage{{name: "all", regions: []string{"dev-1"}}}, catalog: func(w *world) string {
		var b strings.Builder
		b.WriteString(pipelineCatalog(w))
		b.WriteString(w.applicationSet(w.name+"-locked", secret.URL, "main", "app"))
		for _, m := range mistakes {
			b.WriteString(w.applicationSet(w.name+"-"+m.name, w.repo.URL, m.revision, m.path))
		}
		return b.String()
	}})
	for _, m := range mistakes {
		for path, text := range m.files {
			all[path] = text
		}
	}
	commit := w.push(all)

	for _, m := range mistakes {
		w.step(m.name, func(t *testing.T) {
			w.requireCondition(w.name+"-"+m.name+"-dev-1", m.kind, m.says...)
		})
	}
	w.step("a repository that wants a password", func(t *testing.T) {
		w.requireCondition(w.name+"-locked-dev-1", promotion.RefMissing, secret.URL[len("http://"):len(secret.URL)-len(".git")], "password")
	})
	w.step("none of them keeps the good one from being delivered", func(*testing.T) { w.untilDelivered(commit) })
	w.step("a mistake that is mended is delivered", func(t *testing.T) {
		w.push(files{"no-yaml/broken.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mended}\n"})
		w.until("the mended Application is delivered", func(ctx context.Context) (bool, any) {
			status, err := w.api.Delivery(ctx, "default/"+w.name+"-no-yaml-dev-1")
			return err == nil && len(status.Conditions) == 0 && status.Sync == gitops.Synced && status.Health == gitops.Healthy, []any{status, err}
		})
	})
}

// requireCondition waits until the API shows a condition of a Delivery, and
// checks what it says; so does the command.
func (w *world) requireCondition(name string, kind promotion.ConditionKind, says ...string) {
	w.t.Helper()
	var shown promotion.Condition
	w.until(name+" has a condition "+string(kind), func(ctx context.Context) (bool, any) {
		status, err := w.api.Delivery(ctx, "default/"+name)
		for _, c := range status.Conditions {
			if c.Kind == kind {
				shown = c
				return true, nil
			}
		}
		return false, []any{status, fmt.Sprint(err)}
	})
	w.t.Logf("%s: %s %s: %s", name, shown.Kind, shown.Subject, shown.Message)
	for _, words := range says {
		require.Contains(w.t, shown.Message, words)
	}
	out, err := w.tidegate("get", "deliveries", "--output", "json")
	require.NoError(w.t, err, out)
	require.Contains(w.t, out, string(kind))
}

func TestAnObjectThatOneRegionRefuses(t *testing.T) {
	w := newWorld(t, options{stages: []stage{{name: "all", regions: []string{"dev-1", "staging-1", "staging-2"}}}})
	settings := func(color string) files {
		return files{"app/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: " + color + "}\n"}
	}
	w.untilDelivered(w.push(settings("blue")))
	_, err := w.kube("staging-1").CoreV1().ConfigMaps(w.name).
		Patch(t.Context(), "settings", types.MergePatchType, []byte(`{"immutable":true}`), metav1.PatchOptions{FieldManager: "somebody"})
	require.NoError(t, err)

	commit := w.push(settings("red"))
	var failed promotion.Rollout
	w.untilState("the rollout has failed", func(s promotion.State) bool {
		for _, r := range s.Rollouts {
			if r.Phase == gitops.PhaseFailed {
				failed = r
			}
		}
		return failed.Number > 0
	})
	require.Equal(t, 2, failed.Healthy, "the other regions went on")
	require.Equal(t, 1, failed.Broken)
	for _, region := range []string{"dev-1", "staging-2"} {
		found, err := w.kube(region).CoreV1().ConfigMaps(w.name).Get(t.Context(), "settings", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, "red", found.Data["color"])
	}
	for _, target := range w.rollout("all", failed.Number).Targets {
		if target.Region != "staging-1" {
			require.Equal(t, gitops.TargetHealthy, target.Phase)
			continue
		}
		require.Equal(t, gitops.TargetFailed, target.Phase)
		require.Contains(t, target.Message, "settings")
		require.Contains(t, target.Message, "immutable")
	}
	out, err := w.tidegate("get", "targets")
	require.NoError(t, err, out)
	require.Contains(t, out, "immutable")

	require.NoError(t, w.kube("staging-1").CoreV1().ConfigMaps(w.name).Delete(t.Context(), "settings", metav1.DeleteOptions{}))
	_, err = w.api.Sync(t.Context(), w.delivery(), wire.Sync{By: "somebody"})
	require.NoError(t, err)
	w.untilDelivered(commit)
}
