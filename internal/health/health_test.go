package health_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/health"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func parse(t testing.TB, doc string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(doc))
	require.NoError(t, err)
	var object map[string]any
	require.NoError(t, utiljson.Unmarshal(data, &object))
	return object
}

// golden compares what each case that matches gives with its golden file.
func golden(t *testing.T, pattern string, play func(t *testing.T, text string) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			got := play(t, string(text))
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

// A case is a file of objects whose names say what they are; the golden file says
// how each is, and whether it is waited for.
func TestCompute(t *testing.T) {
	golden(t, "testdata/*.yaml", func(t *testing.T, text string) string {
		var b strings.Builder
		for doc := range strings.SplitSeq(text, "\n---\n") {
			object := parse(t, doc)
			status, message := health.Compute(object)
			name := object["metadata"].(map[string]any)["name"]
			fmt.Fprintf(&b, "%s: %s %q tracked=%t\n", name, status, message, health.Tracked(object))
		}
		return b.String()
	})
}

func TestAnObjectThatIsBeingDeletedIsProgressing(t *testing.T) {
	object := parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, deletionTimestamp: "2026-01-01T00:00:00Z"}}`)
	status, message := health.Compute(object)
	require.Equal(t, gitops.Progressing, status)
	require.Equal(t, "is being deleted", message)
}

func FuzzCompute(f *testing.F) {
	for _, kind := range []string{"apps/v1 Deployment", "apps/v1 StatefulSet", "v1 Pod", "batch/v1 Job", "autoscaling/v2 HorizontalPodAutoscaler", "example.com/v1 Other"} {
		version, kind, _ := strings.Cut(kind, " ")
		f.Add(fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"generation":2},"spec":{"replicas":1},"status":{"conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"state":{}}]}}`, version, kind))
	}
	f.Fuzz(func(t *testing.T, text string) {
		var object map[string]any
		if utiljson.Unmarshal([]byte(text), &object) != nil || object == nil {
			return
		}
		status, _ := health.Compute(object)
		require.NotEmpty(t, status)
		health.Tracked(object)
	})
}

// A case is a rule and an object; the golden file says how that is.
func TestRules(t *testing.T) {
	golden(t, "testdata/rules/*.yaml", func(t *testing.T, text string) string {
		var c struct{ Rule gitops.HealthRule }
		require.NoError(t, yaml.Unmarshal([]byte(text), &c))
		rules, err := health.NewRules([]gitops.HealthRule{c.Rule})
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		object, _ := parse(t, text)["object"].(map[string]any)
		status, message := rules.Compute(object)
		return fmt.Sprintf("%s %q tracked=%t\n", status, message, rules.Tracked(object))
	})
}
