package renderer

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// webRelease is what a chart is rendered for.
var webRelease = render.Release{Name: "web", Namespace: "shop", KubeVersion: "v1.37.2"}

func corpus(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("TIDEGATE_CORPUS")
	if dir == "" {
		t.Skip("set TIDEGATE_CORPUS to a folder with the trees of microservices-demo and podinfo")
	}
	return dir
}

func TestTreesOfPublicProjectsRender(t *testing.T) {
	for _, c := range []struct {
		tree, path, renderer string
		objects, reads       int
	}{
		{"microservices-demo", "kustomize", render.RendererKustomize, 35, 17},
		{"microservices-demo", "kustomize/base", render.RendererKustomize, 35, 14},
		{"microservices-demo", "kustomize/tests/spanner-with-all-components", render.RendererKustomize, 49, 43},
		{"microservices-demo", "kustomize/tests/memorystore-with-all-components", render.RendererKustomize, 49, 43},
		{"microservices-demo", "kubernetes-manifests", render.RendererKustomize, 33, 13},
		{"microservices-demo", "istio-manifests", render.RendererDirectory, 5, 1},
		{"podinfo", "kustomize", render.RendererKustomize, 3, 6},
		{"microservices-demo", "helm-chart", render.RendererHelm, 36, 1},
		{"podinfo", "charts/podinfo", render.RendererHelm, 2, 1},
	} {
		t.Run(c.tree+"/"+c.path, func(t *testing.T) {
			request, err := json.Marshal(render.Request{Path: c.path, Release: webRelease})
			require.NoError(t, err)
			first := answer(t, filepath.Join(corpus(t), c.tree), string(request))
			require.Nil(t, first.Error)
			require.Equal(t, c.renderer, first.Renderer)
			require.Equal(t, c.objects, first.Count)
			require.Len(t, first.Reads, c.reads)
			require.Equal(t, first, answer(t, filepath.Join(corpus(t), c.tree), string(request)), "the same tree is the same bytes")
		})
	}
}

// TestEveryComponentOfAPublicProject adds each component of Online Boutique by an
// Application's option, and holds the result against Kustomize's own build of a
// kustomization that names it.
func TestEveryComponentOfAPublicProject(t *testing.T) {
	tree := filepath.Join(corpus(t), "microservices-demo")
	components, err := filepath.Glob(filepath.Join(tree, "kustomize", "components", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, components)
	for _, folder := range components {
		name := filepath.Base(folder)
		t.Run(name, func(t *testing.T) {
			component := "../components/" + name
			request, err := json.Marshal(render.Request{Path: "kustomize/base", Kustomize: &gitops.Kustomize{Components: []string{component}}})
			require.NoError(t, err)
			got := answer(t, tree, string(request))
			require.Nil(t, got.Error)
			require.JSONEq(t, string(buildWith(t, tree, component)), string(got.Objects))
		})
	}
}

// buildWith is what Kustomize builds of a copy of a tree whose base names a
// component; as a list that is sorted like a render's.
func buildWith(t *testing.T, tree, component string) []byte {
	work := t.TempDir()
	require.NoError(t, os.CopyFS(work, os.DirFS(tree)))
	base := filepath.Join(work, "kustomize", "base")
	file := filepath.Join(base, "kustomization.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(text, "\ncomponents: ["+component+"]\n"...), 0o600))
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), base)
	require.NoError(t, err)
	result, err := collect(render.Result{}, "", built)
	require.NoError(t, err)
	return result.Objects
}

func TestATreeRendersTheSameEachTime(t *testing.T) {
	for tree, paths := range map[string][]string{
		"microservices-demo": {"kustomize", "kustomize/tests/spanner-with-all-components", "kubernetes-manifests", "istio-manifests", "helm-chart"},
		"podinfo":            {"kustomize", "charts/podinfo"},
	} {
		for _, path := range paths {
			digests := map[[sha256.Size]byte]bool{}
			for range 20 {
				got := answer(t, filepath.Join(corpus(t), tree), `{"path": "`+path+`", "release": {"name": "web", "kubeVersion": "v1.37.2"}}`)
				require.Nil(t, got.Error)
				digests[sha256.Sum256(got.Objects)] = true
			}
			require.Len(t, digests, 1, "%s of %s", path, tree)
		}
	}
}

func BenchmarkKustomize(b *testing.B) {
	for b.Loop() {
		answer(b, filepath.Join(corpus(b), "microservices-demo"), `{"path": "kustomize"}`)
	}
}
