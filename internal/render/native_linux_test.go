package render_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/render"
	"github.com/tidegate/tidegate/internal/render/plugin"
	"github.com/tidegate/tidegate/internal/sandbox"
)

func TestARenderIsTheSameInTheSandbox(t *testing.T) {
	for claim, rlimits := range map[string]bool{"with cgroups, where there are any": false, "with resource limits": true} {
		t.Run(claim, func(t *testing.T) {
			native, err := sandbox.NewNative(sandbox.Options{Program: binary, Idle: 1, Rlimits: rlimits})
			if err != nil {
				t.Skipf("this host has no native sandbox: %v", err)
			}
			t.Cleanup(func() { require.NoError(t, native.Close()) })
			rendersTheSame(t, &render.Engine{Sandbox: native, Binary: binary, Timeout: time.Minute})
		})
	}
	t.Run("with gVisor", func(t *testing.T) {
		runsc, err := sandbox.Find("runsc")
		if err != nil {
			runsc, _ = filepath.Abs("../../.local/bin/runsc")
		}
		g, err := sandbox.NewGVisor(sandbox.GVisorOptions{Runsc: runsc, Program: binary})
		if err != nil {
			t.Skipf("this host has no sandbox of gVisor: %v", err)
		}
		t.Cleanup(func() { require.NoError(t, g.Close()) })
		rendersTheSame(t, &render.Engine{Sandbox: g, Binary: binary, Timeout: time.Minute})
	})
}

func rendersTheSame(t *testing.T, confined *render.Engine) {
	dir := t.TempDir()
	write(t, dir, "plain/a.yaml", configMap)
	write(t, dir, "overlay/kustomization.yaml", "resources: [../plain/a.yaml]\nconfigMapGenerator: [{name: g, literals: [a=b]}]\n")
	write(t, dir, "jsonnet/a.jsonnet", `{apiVersion: "v1", kind: "ConfigMap", metadata: {name: "a"}}`)
	write(t, dir, "broken/a.yaml", "a: [")
	write(t, dir, "chart/Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n")
	write(t, dir, "chart/templates/a.yaml", configMap)
	for _, path := range []string{"plain", "overlay", "jsonnet", "chart", "broken", "absent"} {
		t.Run(path, func(t *testing.T) {
			request := render.Request{Tree: dir, Path: path}
			want, wantErr := engine().Render(t.Context(), request)
			got, err := confined.Render(t.Context(), request)
			require.Equal(t, wantErr, err)
			require.Equal(t, want, got)
		})
	}
	t.Run("a plugin", func(t *testing.T) {
		plain := engine()
		plain.Plugins = []plugin.Plugin{pluginOf(t, "cat", "{init: {command: [sh, -c, 'echo >> a.yaml']}, generate: {command: [cat, a.yaml]}}")}
		confined.Plugins = plain.Plugins
		request := render.Request{Tree: dir, Path: "plain", Plugin: &render.PluginCall{Name: "cat"}}
		want, err := plain.Render(t.Context(), request)
		require.NoError(t, err)
		got, err := confined.Render(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
	t.Run("a link that leads out", func(t *testing.T) {
		outside := t.TempDir()
		write(t, outside, "a.yaml", configMap)
		tree := t.TempDir()
		require.NoError(t, os.Symlink(filepath.Join(outside, "a.yaml"), filepath.Join(tree, "a.yaml")))
		_, err := confined.Render(t.Context(), render.Request{Tree: tree, Path: "."})
		require.ErrorContains(t, err, "a.yaml")
	})
}
