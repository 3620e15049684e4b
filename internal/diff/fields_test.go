package diff_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

// golden compares what a case of a folder gives with its golden file.
func golden(t *testing.T, folder string, play func(t *testing.T, text []byte) string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			got := play(t, text)
			golden := strings.TrimSuffix(file, ".yaml") + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

// decode is YAML as a server's answers are decoded: whole numbers are int64.
func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	data, err := yaml.YAMLToJSON(text)
	require.NoError(t, err)
	require.NoError(t, utiljson.Unmarshal(data, into))
}

func TestFields(t *testing.T) {
	golden(t, "fields", func(t *testing.T, text []byte) string {
		var c map[string]any
		decode(t, text, &c)
		live, want := c["live"].(map[string]any), c["want"].(map[string]any)
		var b strings.Builder
		for _, change := range diff.Masked(manifest.KeyOf(want), diff.Fields(live, want)) {
			fmt.Fprintln(&b, change)
		}
		require.NotContains(t, b.String(), "aHVudGVy", "a secret's value")
		require.Empty(t, diff.Fields(live, live))
		return b.String()
	})
}

func TestIgnore(t *testing.T) {
	golden(t, "ignore", func(t *testing.T, text []byte) string {
		var c struct{ Rule gitops.IgnoreRule }
		require.NoError(t, yaml.Unmarshal(text, &c))
		var o map[string]any
		decode(t, text, &o)
		object := o["object"].(map[string]any)
		ignore, err := diff.NewIgnore([]gitops.IgnoreRule{c.Rule})
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		paths, err := ignore.Of(manifest.KeyOf(object)).Paths(t.Context(), object, object)
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		left := diff.NewDigester("tidegate").Without(object, paths)
		fields := left["metadata"].(map[string]any)["managedFields"].([]any)[0]
		delete(left["metadata"].(map[string]any), "managedFields")
		shown, err := yaml.Marshal(map[string]any{"paths": paths, "left": left, "ours": fields.(map[string]any)["fieldsV1"]})
		require.NoError(t, err)
		return string(shown)
	})
}
