package plugin_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/render/plugin"
)

const head = "apiVersion: argoproj.io/v1alpha1\nkind: ConfigManagementPlugin\nmetadata: {name: cdk8s}\n"

func TestAPluginsFileIsRead(t *testing.T) {
	p, err := plugin.Parse([]byte(head + `
spec:
  version: v1.0
  preserveFileMode: false
  init: {command: [sh], args: [-c, 'npm ci']}
  generate:
    command: [sh, -c]
    args: [cdk8s synth --stdout]
  discover: {fileName: "./cdk8s.y*ml"}
  parameters:
    static: [{name: image, title: Image, required: true, string: web}]
    dynamic: {command: [echo, "[]"]}
`))
	require.NoError(t, err)
	require.Equal(t, "cdk8s-v1.0", p.Name)
	require.Equal(t, [][]string{{"sh", "-c", "npm ci"}, {"sh", "-c", "cdk8s synth --stdout"}}, p.Commands())
	matches, err := p.Discover.Match(fstest.MapFS{"cdk8s.yaml": {}})
	require.NoError(t, err)
	require.True(t, matches)
	matches, err = p.Discover.Match(fstest.MapFS{"deeper/cdk8s.yaml": {}})
	require.NoError(t, err)
	require.False(t, matches)
}

func TestAPluginIsForFoldersWithFilesBelow(t *testing.T) {
	p, err := plugin.Parse([]byte(head + "spec: {generate: {command: [x]}, discover: {find: {glob: '**/*.cue'}}}\n"))
	require.NoError(t, err)
	matches, err := p.Discover.Match(fstest.MapFS{"a/b/c.cue": {}})
	require.NoError(t, err)
	require.True(t, matches)
	require.Equal(t, [][]string{{"x"}}, p.Commands())
}

func TestWhatIsWrongWithAPluginsFileIsSaid(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "it is empty",
		"a: b":                            "field a not found",
		"kind: ConfigMap\napiVersion: v1": "it is ConfigMap of v1; it must be ConfigManagementPlugin of argoproj.io/v1alpha1",
		"apiVersion: argoproj.io/v1alpha1\nkind: ConfigManagementPlugin\nspec: {generate: {command: [x]}}": "metadata.name is missing",
		head: "spec.generate.command is missing",
		head + "spec: {generate: {command: [x]}, init: {args: [x]}}":                        "spec.init has no command",
		head + "spec: {generate: {command: [x]}, provideGitCreds: true}":                    "spec.provideGitCreds is not supported",
		head + "spec: {generate: {command: [x]}, discover: {fileName: a, find: {glob: b}}}": "more than one rule",
		head + "spec: {generate: {command: [x]}, discover: {fileName: '[a'}}":               "spec.discover.fileName: \"[a\" is not a pattern",
		head + "spec: {genrate: {command: [x]}}":                                            "line 4: field genrate not found",
	} {
		_, err := plugin.Parse([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(head + "spec: {generate: {command: [x]}, discover: {find: {glob: '**/*.cue'}}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := plugin.Parse(text)
		if err == nil && (p.Name == "" || len(p.Generate) == 0) {
			t.Fatalf("an unusable plugin was read: %+v", p)
		}
		if err == nil {
			_, _ = p.Discover.Match(fstest.MapFS{"a/b": {}})
		}
	})
}
