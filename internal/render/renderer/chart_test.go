package renderer

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	helmrelease "helm.sh/helm/v4/pkg/release/v1"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// TestChartsOfPublicProjectsEqualHelmTemplate holds renders against those of
// Helm's own install action without a cluster, which is what `helm template` runs.
func TestChartsOfPublicProjectsEqualHelmTemplate(t *testing.T) {
	for name, c := range map[string]struct {
		tree, path string
		values     map[string]any
		options    gitops.Helm
	}{
		"online boutique":              {tree: "microservices-demo", path: "helm-chart"},
		"online boutique with options": {tree: "microservices-demo", path: "helm-chart", values: map[string]any{"networkPolicies": map[string]any{"create": true}, "loadGenerator": map[string]any{"create": false}}, options: gitops.Helm{Values: "networkPolicies: {create: true}", Parameters: []gitops.HelmParameter{{Name: "loadGenerator.create", Value: "false"}}}},
		"podinfo":                      {tree: "podinfo", path: "charts/podinfo"},
		"podinfo with options": {tree: "podinfo", path: "charts/podinfo", values: map[string]any{"replicaCount": 3, "hpa": map[string]any{"enabled": true}, "redis": map[string]any{"enabled": true}, "ingress": map[string]any{"enabled": true}}, options: gitops.Helm{
			Values: "hpa: {enabled: true}\nredis: {enabled: true}\ningress: {enabled: true}\n", Parameters: []gitops.HelmParameter{{Name: "replicaCount", Value: "3"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tree := filepath.Join(corpus(t), c.tree)
			request, err := json.Marshal(render.Request{Path: c.path, Helm: &c.options, Release: webRelease})
			require.NoError(t, err)
			got := answer(t, tree, string(request))
			require.Nil(t, got.Error)
			require.JSONEq(t, string(helmTemplate(t, filepath.Join(tree, c.path), c.values)), string(got.Objects))
		})
	}
}

// helmTemplate is what Helm renders, as a list that is sorted like a render's.
func helmTemplate(t *testing.T, dir string, values map[string]any) []byte {
	t.Helper()
	version, err := common.ParseKubeVersion("v1.37.2")
	require.NoError(t, err)
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy, install.Replace, install.IncludeCRDs, install.KubeVersion = action.DryRunClient, true, true, version
	install.ReleaseName, install.Namespace = "web", "shop"
	c, err := loader.LoadDir(dir)
	require.NoError(t, err)
	released, err := install.RunWithContext(t.Context(), c, values)
	require.NoError(t, err)
	r := released.(*helmrelease.Release)
	var found objects
	require.NoError(t, found.addFile("manifest.yaml", []byte(r.Manifest)))
	for _, hook := range r.Hooks {
		if !isOnlyTest(hook) {
			require.NoError(t, found.addFile("hook.yaml", []byte(hook.Manifest)))
		}
	}
	result, err := found.result(render.Result{})
	require.NoError(t, err)
	return result.Objects
}

func isOnlyTest(hook *helmrelease.Hook) bool {
	for _, event := range hook.Events {
		if event != helmrelease.HookTest {
			return false
		}
	}
	return true
}
