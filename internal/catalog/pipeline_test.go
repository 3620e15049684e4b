package catalog_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// gated is a Pipeline over setOf's Applications.
const gated = `apiVersion: tidegate.dev/v1alpha1
kind: Pipeline
metadata: {name: gated}
spec:
  applicationSet: set
  stages:
    - name: production
      gates: [{approval: {}}]
`

// A mistake in a Pipeline must never deliver what its gates keep back.
func TestABrokenPipelineSetsNothingFree(t *testing.T) {
	files := func(pipeline string) map[string]string {
		return map[string]string{
			"set.yaml": setOf("{{name}}-shop", "goTemplate: false", "clusters: {}"), "app.yaml": app("blog", "eu-1"), "pipeline.yaml": pipeline,
		}
	}
	good := load(t, files(gated))
	require.Empty(t, good.Problems)
	require.Equal(t, []string{"default/blog", "default/gated"}, keys(good))

	for name, c := range map[string]struct {
		slip, fixed string
		free        []string // Deliveries that are certainly not meant
	}{
		"a gate":                  {"approval:", "aproval:", []string{"default/blog"}},
		"the field before a gate": {"gates:", "gate:", []string{"default/blog"}},
		"the name of the set":     {"applicationSet: set", "applicationSet: sets", []string{"default/blog"}},
		"the stage's name":        {"name: production", "name: Pro Duction", []string{"default/blog"}},
		"the Pipeline's name":     {"name: gated", "nam: gated", []string{"default/blog"}},
		"what it selects":         {"applicationSet:", "applicationset:", nil},
		"its kind":                {"kind: Pipeline", "kind: Pipelines", nil},
		"its version":             {"tidegate.dev/v1alpha1", "tidegate.dev/v1", nil},
		"its group":               {"tidegate.dev/v1alpha1", "tidegat.dev/v1alpha1", nil},
		"its YAML":                {"stages:", "stages: [", nil},
		"its spec":                {"spec:", "specs:", nil},
		"kind is missing":         {"kind: Pipeline\n", "", nil},
	} {
		broken := load(t, files(strings.Replace(gated, c.slip, c.fixed, 1)))
		require.NotEmpty(t, broken.Problems, name)
		require.ElementsMatch(t, c.free, keys(broken), name)
	}
}

func TestATargetBelongsToOnePipeline(t *testing.T) {
	second := strings.Replace(gated, "name: gated", "name: second", 1)
	cat := load(t, map[string]string{"all.yaml": setOf("{{name}}-shop", "goTemplate: false", "clusters: {selector: {matchLabels: {stage: dev}}}") + "---\n" + gated + "---\n" + second})
	require.Empty(t, cat.Deliveries)
	require.Contains(t, messages(cat), "Application eu-1-shop is selected by Pipeline second too")
	require.Contains(t, messages(cat), "Application eu-1-shop is selected by Pipeline gated too")
}

func TestAPipelineTakesTheProjectOfItsApplications(t *testing.T) {
	set := strings.Replace(setOf("{{name}}-shop", "goTemplate: false", "clusters: {}"), "spec:\n      source", "spec:\n      project: web\n      source", 1)
	require.Equal(t, []string{"web/gated"}, keys(load(t, map[string]string{"all.yaml": set + "---\n" + gated})))
}

func TestASetAndSelectorTogetherSelectWhatBothDo(t *testing.T) {
	set := setOf("{{name}}-shop", "goTemplate: false", "clusters: {}")
	set = strings.Replace(set, "metadata: {name: '{{name}}-shop'}", "metadata: {name: '{{name}}-shop', labels: {zone: '{{metadata.labels.zone}}'}}", 1)
	cat := load(t, map[string]string{"all.yaml": set + "---\n" + strings.Replace(gated, "applicationSet: set", "applicationSet: set\n  selector: {matchLabels: {zone: eu}}", 1)})
	require.Empty(t, cat.Problems)
	require.Equal(t, []string{"default/gated", "default/us-1-shop", "default/us-2-shop"}, keys(cat))
}

func TestAStageWithoutAutomaticSyncWaitsForOne(t *testing.T) {
	manual := strings.Replace(app("shop", "eu-1"), "  syncPolicy: {automated: {}}\n", "", 1)
	require.Empty(t, load(t, map[string]string{"a.yaml": app("shop", "eu-1")}).Deliveries[0].Stages[0].Gates)
	require.Len(t, load(t, map[string]string{"a.yaml": manual}).Deliveries[0].Stages[0].Gates, 1)
}
