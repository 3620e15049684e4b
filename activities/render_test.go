package activities_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/artifact"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
	"github.com/tidegate/tidegate/internal/render/plugin"
	"github.com/tidegate/tidegate/internal/sandbox"
	"github.com/tidegate/tidegate/internal/telemetry"
)

// countingSandbox runs the real renderer program and counts how often.
type countingSandbox struct{ runs *atomic.Int32 }

func (c countingSandbox) Run(ctx context.Context, job sandbox.Job) (sandbox.Result, error) {
	c.runs.Add(1)
	return sandbox.Process{}.Run(ctx, job)
}

// rendering is a Renderer with real parts.
type rendering struct {
	*activities.Renderer
	runs atomic.Int32
	env  *testsuite.TestActivityEnvironment
}

// TestRenderer builds the renderer program once: linking it takes longer than all
// the renders.
func TestRenderer(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "tidegate-render")
	out, err := exec.Command("go", "build", "-o", binary, "github.com/tidegate/tidegate/internal/render/renderer/tidegate-render").CombinedOutput()
	require.NoError(t, err, string(out))
	for claim, test := range map[string]func(*testing.T, *rendering){
		"targets with the same input share one render":     targetsWithTheSameInputShareOneRender,
		"only what reads a change is rendered again":       onlyWhatReadsAChangeIsRenderedAgain,
		"other options are another render":                 otherOptionsAreAnotherRender,
		"a source at fault is final and says what it read": aSourceAtFaultIsFinalAndSaysWhatItRead,
		"a checkout with a link out of it is refused":      aCheckoutWithALinkOutOfItIsRefused,
		"a missing checkout is lost":                       aMissingCheckoutIsLost,
		"regions of one class share a chart's render":      regionsOfOneClassShareAChartsRender,
		"calls that make each render another are noted":    callsThatMakeEachRenderAnotherAreNoted,
		"a chart waits for the class of its region":        aChartWaitsForTheClassOfItsRegion,
		"what a render asks for is part of its key":        whatARenderAsksForIsPartOfItsKey,
		"a file in the folder goes over the options":       aFileInTheFolderGoesOverTheOptions,
		"a plugin is told what Argo CD tells it":           aPluginIsToldWhatArgoCDTellsIt,
		"a plugin renders again when its paths change":     aPluginRendersAgainWhenItsPathsChange,
	} {
		t.Run(claim, func(t *testing.T) { test(t, newRendering(t, binary)) })
	}
}

func newRendering(t *testing.T, binary string) *rendering {
	t.Helper()
	store, err := artifact.Open(t.Context(), artifact.Options{URL: "mem://"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	r := &rendering{}
	r.Renderer = &activities.Renderer{
		Engine:  &render.Engine{Sandbox: countingSandbox{&r.runs}, Binary: binary, Timeout: time.Minute},
		Blobs:   activities.Blobs{Store: store},
		Dir:     filepath.Join(t.TempDir(), "checkouts"),
		Metrics: telemetry.NewMetrics(telemetry.NewRegistry()),
	}
	r.env = (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	r.env.RegisterActivity(r.Renderer)
	return r
}

func (r *rendering) render(t *testing.T, files map[string]string, targets ...gitops.Target) (activities.RenderResult, error) {
	t.Helper()
	var result activities.RenderResult
	in := activities.RenderInput{Checkouts: []activities.Checkout{r.checkout(t, files)}, Targets: targets}
	value, err := r.env.ExecuteActivity(r.Render, in)
	if err != nil {
		return result, err
	}
	require.NoError(t, value.Get(&result))
	return result, nil
}

func (r *rendering) checkout(t *testing.T, files map[string]string) activities.Checkout {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}
		if target, ok := strings.CutPrefix(files[name], "-> "); ok {
			header = tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}
		}
		require.NoError(t, w.WriteHeader(&header))
		if header.Typeflag != tar.TypeSymlink {
			_, err := w.Write([]byte(files[name]))
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	digest, err := r.Blobs.Put(t.Context(), "checkout", b.Bytes())
	require.NoError(t, err)
	return activities.Checkout{Ref: ref, Commit: "c0ffee", Digest: digest}
}

func (r *rendering) paths(t *testing.T, reads []activities.SourceReads) []string {
	t.Helper()
	require.Len(t, reads, 1)
	require.Equal(t, ref, reads[0].Ref)
	data, err := r.Blobs.Get(t.Context(), reads[0].Digest)
	require.NoError(t, err)
	var paths []string
	require.NoError(t, json.Unmarshal(data, &paths))
	return paths
}

var ref = gitops.Ref{Repository: "git.example/shop", Revision: "main"}

func renderTarget(name, path string, options *gitops.Kustomize) gitops.Target {
	return gitops.Target{Name: name, Source: gitops.Source{Repository: ref.Repository, Revision: ref.Revision, Path: path, Kustomize: options}}
}

func checkoutOfAShop() map[string]string {
	return map[string]string{
		"plain/a.yaml":                    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"overlays/eu/kustomization.yaml":  "resources: [../../base]\nnamePrefix: eu-\n",
		"overlays/us/kustomization.yaml":  "resources: [../../base]\nnamePrefix: us-\n",
		"base/kustomization.yaml":         "resources: [a.yaml]\n",
		"base/a.yaml":                     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"elsewhere/that/nobody/reads.txt": "1",
	}
}

func targetsWithTheSameInputShareOneRender(t *testing.T, r *rendering) {
	t.Helper()
	result, err := r.render(t, checkoutOfAShop(), renderTarget("c", "overlays/us", nil), renderTarget("b", "overlays/eu", nil), renderTarget("a", "overlays/eu", nil), renderTarget("d", "plain", nil))
	require.NoError(t, err)
	require.Equal(t, int32(3), r.runs.Load())
	names := make([]string, 0, 4)
	for _, b := range result.Bundles {
		names = append(names, b.Target)
		require.Equal(t, 1, b.Objects)
	}
	require.Equal(t, []string{"a", "b", "c", "d"}, names)
	require.Equal(t, result.Bundles[0].Digest, result.Bundles[1].Digest)
	require.NotEqual(t, result.Bundles[0].Digest, result.Bundles[2].Digest)
	bundle, err := r.Blobs.Get(t.Context(), result.Bundles[0].Digest)
	require.NoError(t, err)
	require.JSONEq(t, `[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"eu-a"}}]`, string(bundle))
	require.Contains(t, r.paths(t, result.Reads), "base/a.yaml")
	require.Contains(t, r.paths(t, result.Reads), "plain")
	require.NotContains(t, r.paths(t, result.Reads), "elsewhere/that/nobody/reads.txt")
	require.Equal(t, 2, testutil.CollectAndCount(r.Metrics.ManifestGenerationDuration), "of both renderers")
}

func onlyWhatReadsAChangeIsRenderedAgain(t *testing.T, r *rendering) {
	t.Helper()
	targets := []gitops.Target{renderTarget("eu", "overlays/eu", nil), renderTarget("us", "overlays/us", nil), renderTarget("plain", "plain", nil)}
	first, err := r.render(t, checkoutOfAShop(), targets...)
	require.NoError(t, err)
	require.Equal(t, int32(3), r.runs.Load())
	for name, c := range map[string]struct {
		file, content string
		renders       int32
	}{
		"nothing that is read":    {"elsewhere/that/nobody/reads.txt", "2", 0},
		"one overlay":             {"overlays/eu/kustomization.yaml", "resources: [../../base]\nnamePrefix: europe-\n", 1},
		"the base of both":        {"base/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n", 2},
		"a file that was not yet": {"plain/b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n", 1},
	} {
		files := checkoutOfAShop()
		files[c.file] = c.content
		r.runs.Store(0)
		_, err := r.render(t, files, targets...)
		require.NoError(t, err)
		require.Equal(t, c.renders, r.runs.Load(), name)
		r.runs.Store(0)
		back, err := r.render(t, checkoutOfAShop(), targets...)
		require.NoError(t, err)
		require.Zero(t, r.runs.Load(), "back to what was rendered before, after "+name)
		require.Equal(t, first, back)
	}
}

func otherOptionsAreAnotherRender(t *testing.T, r *rendering) {
	t.Helper()
	result, err := r.render(t, checkoutOfAShop(), renderTarget("a", "overlays/eu", nil), renderTarget("b", "overlays/eu", &gitops.Kustomize{NameSuffix: "-x"}))
	require.NoError(t, err)
	require.Equal(t, int32(2), r.runs.Load())
	require.NotEqual(t, result.Bundles[0].Digest, result.Bundles[1].Digest)
}

func aSourceAtFaultIsFinalAndSaysWhatItRead(t *testing.T, r *rendering) {
	t.Helper()
	files := checkoutOfAShop()
	files["base/kustomization.yaml"] = "resources: [a.yaml, not-yet.yaml]\n"
	_, err := r.render(t, files, renderTarget("a", "overlays/eu", nil))
	var failure *temporal.ApplicationError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, string(render.KindPath), failure.Type())
	require.True(t, failure.NonRetryable())
	require.Contains(t, failure.Message(), "base/kustomization.yaml:1: resources names not-yet.yaml")
	var details activities.RenderFailure
	require.NoError(t, failure.Details(&details))
	require.Contains(t, r.paths(t, details.Reads), "base/not-yet.yaml", "its arrival mends the render")
	require.Equal(t, 1, testutil.CollectAndCount(r.Metrics.ManifestGenerationErrors))
}

func aCheckoutWithALinkOutOfItIsRefused(t *testing.T, r *rendering) {
	t.Helper()
	files := checkoutOfAShop()
	files["plain/evil"] = "-> /etc/passwd"
	_, err := r.render(t, files, renderTarget("a", "plain", nil))
	var failure *temporal.ApplicationError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, activities.ErrorCheckout, failure.Type())
	require.True(t, failure.NonRetryable())
	require.Contains(t, failure.Message(), "plain/evil")
}

func aMissingCheckoutIsLost(t *testing.T, r *rendering) {
	t.Helper()
	in := activities.RenderInput{
		Checkouts: []activities.Checkout{{Ref: ref, Digest: "checkout:" + strings.Repeat("0", 64)}}, Targets: []gitops.Target{renderTarget("a", "plain", nil)},
	}
	_, err := r.env.ExecuteActivity(r.Render, in)
	var failure *temporal.ApplicationError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, activities.ErrorArtifactLost, failure.Type())
}

func checkoutOfAChart() map[string]string {
	return map[string]string{
		"chart/Chart.yaml":       "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"chart/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {version: {{ .Capabilities.KubeVersion.Version }}}\n",
	}
}

func chartTarget(region, release string) gitops.Target {
	t := renderTarget("shop-"+region, "chart", nil)
	t.Region, t.Source.Helm = region, &gitops.Helm{ReleaseName: release}
	return t
}

func regionsOfOneClassShareAChartsRender(t *testing.T, r *rendering) {
	for region, version := range map[string]string{"eu-1": "v1.36.0", "eu-2": "v1.36.0", "us-1": "v1.37.0"} {
		require.NoError(t, r.Blobs.PublishClass(t.Context(), region, gitops.RegionClass{KubeVersion: version}))
	}
	result, err := r.render(t, checkoutOfAChart(), chartTarget("eu-1", "shop"), chartTarget("eu-2", "shop"), chartTarget("us-1", "shop"), chartTarget("eu-1", ""))
	require.NoError(t, err)
	require.Equal(t, int32(3), r.runs.Load(), "one for each version, and one for another release name")
	bundles := map[string]string{}
	for _, b := range result.Bundles {
		data, err := r.Blobs.Get(t.Context(), b.Digest)
		require.NoError(t, err)
		bundles[b.Target] += string(data)
	}
	require.Contains(t, bundles["shop-eu-2"], `{"version":"v1.36.0"}`)
	require.Contains(t, bundles["shop-us-1"], `{"version":"v1.37.0"}`)
	require.Contains(t, bundles["shop-eu-1"], `"name":"shop-eu-1"`, "the target's name is the release's")
}

func aChartWaitsForTheClassOfItsRegion(t *testing.T, r *rendering) {
	r.ClassPatience = time.Minute
	published := make(chan error)
	go func() {
		published <- r.Blobs.PublishClass(context.WithoutCancel(t.Context()), "eu-1", gitops.RegionClass{KubeVersion: "v1.36.0"})
	}()
	result, err := r.render(t, checkoutOfAChart(), chartTarget("eu-1", "shop"))
	require.NoError(t, err)
	require.NoError(t, <-published)
	data, err := r.Blobs.Get(t.Context(), result.Bundles[0].Digest)
	require.NoError(t, err)
	require.Contains(t, string(data), `{"version":"v1.36.0"}`)

	r.ClassPatience = 0
	_, err = r.render(t, checkoutOfAChart(), chartTarget("silent", "shop"))
	require.NoError(t, err, "a region that never spoke does not keep the others from their release")
}

// A render asks for what it refers to, is done again with it, and again when that
// is another one.
func whatARenderAsksForIsPartOfItsKey(t *testing.T, r *rendering) {
	in := activities.RenderInput{
		Checkouts: []activities.Checkout{r.checkout(t, map[string]string{
			"app/kustomization.yaml": "resources: ['https://example.com/a.yaml']\n", "other/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n",
		})},
		Targets: []gitops.Target{renderTarget("a", "app", nil), renderTarget("b", "app", nil), renderTarget("c", "other", nil)},
	}
	render := func() (result activities.RenderResult) {
		value, err := r.env.ExecuteActivity(r.Render, in)
		require.NoError(t, err)
		require.NoError(t, value.Get(&result))
		return result
	}
	asked := render()
	require.Empty(t, asked.Bundles)
	require.Len(t, asked.Needs, 1, "one job, two targets")
	require.Equal(t, gitops.Need{Kind: gitops.NeedFile, URL: "https://example.com/a.yaml"}, asked.Needs[0].Need)
	provide := func(name string) {
		c := r.checkout(t, map[string]string{gitops.NeedContent: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"})
		in.Provided = []activities.Provided{{JobNeed: asked.Needs[0], Commit: c.Digest, Digest: c.Digest}}
	}
	content := func(result activities.RenderResult) string {
		data, err := r.Blobs.Get(t.Context(), result.Bundles[0].Digest)
		require.NoError(t, err)
		return string(data)
	}
	provide("one")
	require.Contains(t, content(render()), `"name":"one"`)
	provide("two")
	require.Contains(t, content(render()), `"name":"two"`)
	runs := r.runs.Load()
	provide("one")
	require.Contains(t, content(render()), `"name":"one"`)
	require.Equal(t, runs, r.runs.Load(), "it was rendered before")
}

// usePlugin adds a plugin that prints its environment as a ConfigMap, for folders
// with a file env.
func (r *rendering) usePlugin(t *testing.T) {
	t.Helper()
	p, err := plugin.Parse([]byte(`
apiVersion: argoproj.io/v1alpha1
kind: ConfigManagementPlugin
metadata: {name: env}
spec:
  discover: {fileName: env}
  generate:
    command: [sh, -c]
    args:
    - |
      echo '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "env"}, "data": {'
      for name in $(cat env); do printf '%s"%s": "%s"' "$comma" "$name" "$(printenv "$name" | tr -d '"')"; comma=,; done
      echo '}}'
`))
	require.NoError(t, err)
	r.Engine.Plugins = []plugin.Plugin{p}
}

func aPluginIsToldWhatArgoCDTellsIt(t *testing.T, r *rendering) {
	r.usePlugin(t)
	require.NoError(t, r.Blobs.PublishClass(t.Context(), "eu-1", gitops.RegionClass{KubeVersion: "v1.36.0", APIVersions: []string{"v1", "apps/v1"}}))
	target := renderTarget("shop-eu-1", "app", nil)
	target.Region = "eu-1"
	value := "web"
	target.Source.Plugin = &gitops.Plugin{
		Env: []gitops.EnvVar{{Name: "STACK", Value: "of-$ARGOCD_APP_NAME"}},
		Parameters: []gitops.PluginParameter{
			{Name: "image", String: &value}, {Name: "host-names", Array: []string{"a", "b"}}, {Name: "labels", Map: map[string]string{"team": "shop"}},
		},
	}
	names := "ARGOCD_APP_NAME ARGOCD_ENV_STACK PARAM_IMAGE PARAM_HOST_NAMES_1 PARAM_LABELS_TEAM KUBE_VERSION KUBE_API_VERSIONS TIDEGATE_REGION ARGOCD_APP_PARAMETERS"
	result, err := r.render(t, map[string]string{"app/env": names}, target)
	require.NoError(t, err)
	data, err := r.Blobs.Get(t.Context(), result.Bundles[0].Digest)
	require.NoError(t, err)
	require.JSONEq(t, `[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "env"}, "data": {
		"ARGOCD_APP_NAME": "shop-eu-1", "ARGOCD_ENV_STACK": "of-shop-eu-1", "PARAM_IMAGE": "web", "PARAM_HOST_NAMES_1": "b", "PARAM_LABELS_TEAM": "shop",
		"KUBE_VERSION": "1.36.0", "KUBE_API_VERSIONS": "v1,apps/v1", "TIDEGATE_REGION": "eu-1",
		"ARGOCD_APP_PARAMETERS": "[{name:image,string:web},{name:host-names,array:[a,b]},{name:labels,map:{team:shop}}]"}}]`, string(data))
}

func aPluginRendersAgainWhenItsPathsChange(t *testing.T, r *rendering) {
	r.usePlugin(t)
	target := renderTarget("a", "app", nil)
	files := map[string]string{"app/env": "ARGOCD_APP_NAME", "other/x": "1", "shared/x": "1"}
	result, err := r.render(t, files, target)
	require.NoError(t, err)
	require.Contains(t, r.paths(t, result.Reads), ".", "everything, when the Application does not say")
	target.Source.GeneratePaths = []string{"app", "shared/*.env"}
	result, err = r.render(t, files, target)
	require.NoError(t, err)
	require.Equal(t, []string{"app", "app/.argocd-source-a.yaml", "app/.argocd-source.yaml", "shared"}, r.paths(t, result.Reads))
	runs := r.runs.Load()
	files["other/x"] = "2"
	_, err = r.render(t, files, target)
	require.NoError(t, err)
	require.Equal(t, runs, r.runs.Load())
	files["shared/x"] = "2"
	_, err = r.render(t, files, target)
	require.NoError(t, err)
	require.Greater(t, r.runs.Load(), runs)
}

func aFileInTheFolderGoesOverTheOptions(t *testing.T, r *rendering) {
	files := map[string]string{
		"app/kustomization.yaml":      "resources: [a.yaml]\n",
		"app/a.yaml":                  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"app/.argocd-source.yaml":     "repoURL: https://elsewhere.example.com\nkustomize: {namePrefix: every-}\n",
		"app/.argocd-source-two.yaml": "kustomize: {nameSuffix: -two}\n",
	}
	result, err := r.render(t, files, renderTarget("one", "app", &gitops.Kustomize{NamePrefix: "p-", NameSuffix: "-s"}), renderTarget("two", "app", nil))
	require.NoError(t, err)
	for i, want := range []string{"every-a-s", "every-a-two"} {
		data, err := r.Blobs.Get(t.Context(), result.Bundles[i].Digest)
		require.NoError(t, err)
		require.Contains(t, string(data), `"name":"`+want+`"`)
	}
	require.Contains(t, r.paths(t, result.Reads), "app/.argocd-source-two.yaml")
	files["app/.argocd-source.yaml"] = strings.Repeat("# long\n", 50_000)
	_, err = r.render(t, files, renderTarget("one", "app", nil))
	require.ErrorContains(t, err, "app/.argocd-source.yaml: it has more than 256 KiB")
	files["app/.argocd-source.yaml"] = "\nkustomize: {namePrefx: x}\n"
	_, err = r.render(t, files, renderTarget("one", "app", nil))
	require.ErrorContains(t, err, "app/.argocd-source.yaml:2: unknown field kustomize.namePrefx; did you mean namePrefix?")
}

func callsThatMakeEachRenderAnotherAreNoted(t *testing.T, r *rendering) {
	files := map[string]string{
		"chart/Chart.yaml":       "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
		"chart/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {at: {{ now | quote }}}\n",
	}
	for range 2 { // remembered, too
		result, err := r.render(t, files, chartTarget("eu-1", "shop"))
		require.NoError(t, err)
		require.Equal(t, []string{"chart/templates/a.yaml:4: now"}, result.Bundles[0].Unstable)
	}
	require.Equal(t, int32(1), r.runs.Load())
}
