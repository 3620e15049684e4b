package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/render"
)

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
	} {
		t.Run(c.tree+"/"+c.path, func(t *testing.T) {
			request, err := json.Marshal(render.Request{Path: c.path})
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

func BenchmarkKustomize(b *testing.B) {
	for b.Loop() {
		answer(b, filepath.Join(corpus(b), "microservices-demo"), `{"path": "kustomize"}`)
	}
}
