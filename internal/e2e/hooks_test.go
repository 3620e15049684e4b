package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/workflows"
)

// hooked is an application with hooks before and after it, each of which takes two
// seconds, and with settings that go when the version does.
func hooked(version string) files {
	hook := func(name, phase, more string) string {
		return fmt.Sprintf(`---
apiVersion: batch/v1
kind: Job
metadata:
  name: %s
  annotations: {argocd.argoproj.io/hook: %s%s, version: "%s"}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {local.tidegate.dev/duration: 2s}}
    spec: {restartPolicy: Never, containers: [{name: main, image: example.com/tool:%[4]s}]}
`, name, phase, more, version)
	}
	return files{
		"app/before.yaml":  hook("before", "PreSync", ""),
		"app/after.yaml":   hook("after", "PostSync", ", argocd.argoproj.io/hook-delete-policy: HookSucceeded"),
		"app/web.yaml":     workload{name: "web", image: "example.com/web:" + version}.String(),
		"app/setting.yaml": fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings-%s}\n", version),
		"app/kept.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\n",
	}
}

// job returns a Job of the world's namespace, of this version of the application;
// nil when there is none.
func (w *world) job(ctx context.Context, region, name, version string) *batchv1.Job {
	j, err := w.kube(region).BatchV1().Jobs(w.name).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && j.Annotations["version"] != version {
		return nil
	}
	require.NoError(w.t, err)
	return j
}

// untilJob waits until a Job is as wanted.
func (w *world) untilJob(region, name, version, what string, wanted func(*batchv1.Job) bool) {
	w.t.Helper()
	w.until("the Job "+name+" "+what, func(ctx context.Context) (bool, any) {
		j := w.job(ctx, region, name, version)
		return j != nil && wanted(j), j
	})
}

func hasEnded(j *batchv1.Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobComplete && c.Status == "True"
	})
}

func isAtWork(j *batchv1.Job) bool { return j.Status.Active > 0 }

func isThere(*batchv1.Job) bool { return true }

// requireHooksOnce checks, in a region's audit log, that each hook was created once
// and that the application was written between them.
func (w *world) requireHooksOnce(region string, since moment) {
	w.t.Helper()
	var order []string
	for _, e := range w.written(region, since) {
		if e.ResponseStatus.Code >= 300 || e.ObjectRef.Namespace != w.name || e.ObjectRef.Subresource != "" {
			continue
		}
		switch key := e.Verb + " " + e.ObjectRef.Resource + "/" + e.ObjectRef.Name; key {
		case "create jobs/before", "create jobs/after":
			order = append(order, key)
		case "patch deployments/web":
			order = append(order, "web")
		}
	}
	require.Equal(w.t, []string{"create jobs/before", "web", "create jobs/after"}, slices.Compact(order), "region %s", region)
	require.Equal(w.t, 2, strings.Count(strings.Join(order, " "), "create jobs"), "region %s", region)
}

func TestAWorkerThatIsKilledRunsEveryHookOnce(t *testing.T) {
	w := newWorld(t, options{stages: []stage{{name: "all", regions: []string{"dev-1"}}}})
	const region = "dev-1"
	for version, point := range []struct {
		when  string
		until func(version, commit string)
	}{
		{"at no time", func(string, string) {}},
		{"when a hook was created", func(version, _ string) { w.untilJob(region, "before", version, "is there", isThere) }},
		{"when a hook is at work", func(version, _ string) { w.untilJob(region, "before", version, "is at work", isAtWork) }},
		{"when a hook has ended", func(version, _ string) { w.untilJob(region, "before", version, "has ended", hasEnded) }},
		{"when the last hook was created", func(version, _ string) { w.untilJob(region, "after", version, "is there", isThere) }},
		{"when the last hook has ended", func(version, _ string) { w.untilJob(region, "after", version, "has ended", hasEnded) }},
		{"in the prune", func(version, commit string) {
			w.untilRunning("all", commit, "prunes", func(r workflows.RolloutStatus) bool {
				return strings.HasPrefix(r.Targets[0].Wave, string(gitops.Prune)) || r.Targets[0].Step > 1
			})
		}},
	} {
		w.step(point.when, func(t *testing.T) {
			version := fmt.Sprint(version)
			before := w.now()
			commit := w.push(hooked(version))
			point.until(version, commit)
			if point.when != "at no time" {
				w.killWorker()
				w.startWorker()
			}
			w.untilDelivered(commit)
			w.requireHooksOnce(region, before)
			require.Equal(t, "example.com/web:"+version, w.image(region, "web"))
			settings, err := w.kube(region).CoreV1().ConfigMaps(w.name).List(t.Context(), metav1.ListOptions{LabelSelector: "tidegate.dev/managed=true"})
			require.NoError(t, err)
			require.Len(t, settings.Items, 2, "what is no longer declared is gone")
			require.NotNil(t, w.job(t.Context(), region, "before", version))
			w.until("the hook is gone, as its policy says", func(ctx context.Context) (bool, any) { return w.job(ctx, region, "after", version) == nil, nil })
			require.Empty(t, w.job(t.Context(), region, "before", version).Finalizers, "nobody holds it")
		})
	}
}

func TestAHookThatFailsIsShownAndKeepsTheRestFromHappening(t *testing.T) {
	w := newWorld(t, options{stages: []stage{{name: "all", regions: []string{"dev-1"}}}})
	w.untilDelivered(w.push(hooked("1")))
	f := hooked("2")
	f["app/before.yaml"] = strings.Replace(f["app/before.yaml"], "local.tidegate.dev/duration: 2s", `local.tidegate.dev/fail: "no database"`, 1)
	f["app/tell.yaml"] = strings.NewReplacer("before", "tell", "PreSync", "SyncFail").Replace(hooked("2")["app/before.yaml"])
	w.push(f)
	w.untilJob("dev-1", "tell", "2", "has ended", hasEnded)
	require.Equal(t, "example.com/web:1", w.image("dev-1", "web"))
	mended := w.push(hooked("3"))
	w.untilDelivered(mended)
	require.Equal(t, "example.com/web:3", w.image("dev-1", "web"))
}
