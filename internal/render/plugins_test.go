package render_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/render"
	"github.com/tidegate/tidegate/internal/render/plugin"
)

func pluginOf(t *testing.T, name, spec string) plugin.Plugin {
	t.Helper()
	p, err := plugin.Parse([]byte("apiVersion: argoproj.io/v1alpha1\nkind: ConfigManagementPlugin\nmetadata: {name: " + name + "}\nspec: " + spec + "\n"))
	require.NoError(t, err)
	return p
}

func TestAPluginRenders(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "app/names", "one\ntwo\n")
	e := engine()
	e.Plugins = []plugin.Plugin{
		pluginOf(t, "never", "{generate: {command: [false]}}"),
		pluginOf(t, "by-command", `{generate: {command: ["false"]}, discover: {find: {command: [sh, -c, 'test -e mark && echo yes']}}}`),
		pluginOf(t, "names", `{init: {command: [sh, -c, 'tr a-z A-Z < names > upper']}, discover: {fileName: names}, generate: {command: [sh, -c],
 args: ['for n in $(cat names); do echo "---"; echo "{apiVersion: v1, kind: ConfigMap, metadata: {name: $n}, data: {env: \"$ARGOCD_ENV_A\", upper: \"$(head -1 upper)\"}}"; done']}}`),
	}
	name, err := e.PluginOf(t.Context(), dir, "app", "", nil)
	require.NoError(t, err)
	require.Equal(t, "names", name)
	result, err := e.Render(t.Context(), render.Request{Tree: dir, Path: "app", Plugin: &render.PluginCall{Name: name, Env: []string{"ARGOCD_ENV_A=from the Application"}}, Substitute: map[string]string{"x": "y"}})
	require.NoError(t, err)
	require.JSONEq(t, `[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":{"env":"from the Application","upper":"ONE"}},
		{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"two"},"data":{"env":"from the Application","upper":"ONE"}}]`, string(result.Objects))
	require.Equal(t, render.RendererPlugin, result.Renderer)

	write(t, dir, "other/mark", "")
	name, err = e.PluginOf(t.Context(), dir, "other", "", nil)
	require.NoError(t, err)
	require.Equal(t, "by-command", name)
	name, err = e.PluginOf(t.Context(), dir, ".", "", nil)
	require.NoError(t, err)
	require.Empty(t, name, "none is for it")
}

func TestWhatIsWrongWithAPluginsRenderIsSaid(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "app/a", "")
	e := engine()
	e.Plugins = []plugin.Plugin{
		pluginOf(t, "fails", `{generate: {command: [sh, -c, 'echo "no such stack: prod" >&2; exit 1']}}`),
		pluginOf(t, "chats", `{generate: {command: [echo, hello world]}}`),
		pluginOf(t, "missing", `{generate: {command: [no-such-program]}}`),
	}
	for name, want := range map[string]string{
		"fails": "app: plugin fails failed: no such stack: prod", "chats": "the output of plugin chats:1: ", "missing": "app: plugin missing failed: no-such-program is in none of ",
	} {
		_, err := e.Render(t.Context(), render.Request{Tree: dir, Path: "app", Plugin: &render.PluginCall{Name: name}})
		var fault *render.Error
		require.ErrorAs(t, err, &fault, name)
		require.Contains(t, fault.Error(), want)
	}
	_, err := e.Render(t.Context(), render.Request{Tree: dir, Path: "nowhere", Plugin: &render.PluginCall{Name: "chats"}})
	require.EqualError(t, err, "nowhere: there is no such folder in the repository")
	_, err = e.Render(t.Context(), render.Request{Tree: dir, Path: "app", Plugin: &render.PluginCall{Name: "chats", Env: []string{"A=" + strings.Repeat("x", 100<<10)}}})
	require.ErrorContains(t, err, "the environment of the plugin has 102402 bytes")
	_, err = e.PluginOf(t.Context(), dir, "app", "chat", nil)
	require.ErrorContains(t, err, "there is no plugin called chat; nearest: chats")
}
