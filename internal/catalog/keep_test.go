package catalog_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidegate/tidegate/internal/catalog"
	"github.com/tidegate/tidegate/internal/gitops"
)

func TestWhileADocumentIsInErrorNothingGoesAway(t *testing.T) {
	set := setOf("{{name}}-shop", "goTemplate: false", "clusters: {}")
	before := load(t, map[string]string{"set.yaml": set, "pipeline.yaml": gated, "apps.yaml": app("blog", "eu-1") + "---\n" + app("wiki", "eu-1")})
	require.Empty(t, before.Problems)

	after := load(t, map[string]string{
		"set.yaml":      strings.Replace(set, "clusters: {}", "clusters: {selector: {matchLabels: {zone: eu}}}", 1), // two regions fewer
		"pipeline.yaml": gated,
		"apps.yaml":     app("blog", "us-1"), // changed, and wiki is gone
		"new.yaml":      app("fresh", "eu-1"),
		"broken.yaml":   "a: [",
	})
	kept := catalog.KeepLast(before, after)
	require.Equal(t, []string{"default/blog", "default/fresh", "default/gated", "default/wiki"}, keys(kept))
	require.Equal(t, "us-1", kept.Deliveries[0].Targets[0].Region, "what is sound is updated")
	require.Equal(t, before.Deliveries[1], kept.Deliveries[2], "the Pipeline keeps its four regions")
	require.Equal(t, after.Digest, kept.Digest)
	require.Equal(t, after.Problems, kept.Problems)
}

func TestABrokenFileDoesNotMoveTargetsOutOfTheirPipeline(t *testing.T) {
	set := setOf("{{name}}-shop", "goTemplate: false", "clusters: {}")
	before := load(t, map[string]string{"set.yaml": set, "pipeline.yaml": gated})
	after := load(t, map[string]string{"set.yaml": set, "pipeline.yaml": "? {", "other.yaml": strings.Replace(gated, "name: gated", "name: second", 1)})
	require.Equal(t, []string{"default/second"}, keys(after))
	require.Equal(t, before.Deliveries, catalog.KeepLast(before, after).Deliveries)
}

func TestWithoutProblemsTheNewCatalogCounts(t *testing.T) {
	before := load(t, map[string]string{"a.yaml": app("blog", "eu-1")})
	after := load(t, map[string]string{"a.yaml": app("wiki", "eu-1")})
	require.Equal(t, after, catalog.KeepLast(before, after))
}

// Whatever two catalogs hold, a target stays in one Delivery and none is lost
// while there is a problem.
func TestKeepLastNeverLosesOrSharesATarget(t *testing.T) {
	draw := func(t *rapid.T, label string) gitops.Catalog {
		owner := rapid.SliceOfN(rapid.IntRange(0, 4), 6, 6).Draw(t, label)
		targets := map[int][]gitops.Target{}
		for i, d := range owner {
			if d > 0 { // 0 is nowhere
				targets[d] = append(targets[d], gitops.Target{Name: string(rune('a' + i))})
			}
		}
		var cat gitops.Catalog
		for d := 1; d <= 4; d++ {
			if len(targets[d]) > 0 {
				cat.Deliveries = append(cat.Deliveries, gitops.Delivery{Project: "p", Name: string(rune('0' + d)), Targets: targets[d]})
			}
		}
		return cat
	}
	rapid.Check(t, func(t *rapid.T) {
		before, after := draw(t, "before"), draw(t, "after")
		after.Problems = []gitops.Problem{{Message: "some document is broken"}}
		owners := map[string]string{}
		for _, d := range catalog.KeepLast(before, after).Deliveries {
			for _, target := range d.Targets {
				require.NotContains(t, owners, target.Name)
				owners[target.Name] = d.Key()
			}
		}
		for _, d := range before.Deliveries {
			for _, target := range d.Targets {
				require.Equal(t, d.Key(), owners[target.Name])
			}
		}
	})
}
