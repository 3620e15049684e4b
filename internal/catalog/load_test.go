package catalog_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/catalog"
	"github.com/tidegate/tidegate/internal/git"
	"github.com/tidegate/tidegate/internal/gitops"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// regions are the settings that every test reads its catalog with.
func regions() []gitops.Region {
	return []gitops.Region{
		{Name: "eu-1", Server: "https://10.0.0.1:6443", Labels: map[string]string{"stage": "dev", "zone": "eu"}, Aliases: []string{"in-cluster", "https://kubernetes.default.svc"}},
		{Name: "eu-2", Labels: map[string]string{"stage": "staging", "zone": "eu"}},
		{Name: "us-1", Labels: map[string]string{"stage": "production", "zone": "us"}, Aliases: []string{"us_1"}},
		{Name: "us-2", Labels: map[string]string{"stage": "production", "zone": "us"}, Aliases: []string{"https://10.0.0.4:6443"}},
	}
}

func options() catalog.Options {
	return catalog.Options{Regions: regions(), Identity: git.NormalizeURL}
}

// Each testdata/<claim>/catalog is a folder, and <claim>/want.txt what is read
// from it.
func TestGolden(t *testing.T) {
	claims, err := filepath.Glob("testdata/*/catalog")
	require.NoError(t, err)
	require.NotEmpty(t, claims)
	for _, dir := range claims {
		t.Run(filepath.Base(filepath.Dir(dir)), func(t *testing.T) {
			o := options()
			if strings.Contains(dir, "demo") {
				o.Regions = fleetOfTen()
			}
			cat, err := catalog.Load(dir, o)
			require.NoError(t, err)
			got := describe(t, cat)
			golden := filepath.Join(filepath.Dir(dir), "want.txt")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err, "run the test with -update")
			require.Equal(t, string(want), got)

			again, err := catalog.Load(dir, o)
			require.NoError(t, err)
			require.Equal(t, cat, again, "the same files give the same catalog")
		})
	}
}

func fleetOfTen() []gitops.Region {
	stages := []string{"dev", "dev", "staging", "staging"}
	var fleet []gitops.Region
	for i := range 10 {
		stage := "production"
		if i < len(stages) {
			stage = stages[i]
		}
		fleet = append(fleet, gitops.Region{Name: fmt.Sprintf("region-%02d", i+1), Labels: map[string]string{"stage": stage}})
	}
	return fleet
}

// describe writes a catalog for people: one line a stage, target and problem.
func describe(t *testing.T, cat gitops.Catalog) string {
	t.Helper()
	var b strings.Builder
	for _, d := range cat.Deliveries {
		fmt.Fprintf(&b, "delivery %s\n", d.Key())
		for _, s := range d.Stages {
			fmt.Fprintf(&b, "  stage %s: %s", s.Name, strings.Join(s.Targets, " "))
			for _, g := range s.Gates {
				fmt.Fprintf(&b, " [%s %s", g.Kind, g.Name)
				if (g != gitops.Gate{Name: g.Name, Kind: g.Kind}) {
					line, err := json.Marshal(g)
					require.NoError(t, err)
					fmt.Fprintf(&b, " %s", line)
				}
				b.WriteString("]")
			}
			if s.Strategy != nil {
				line, err := json.Marshal(s.Strategy)
				require.NoError(t, err)
				fmt.Fprintf(&b, " %s", line)
			}
			b.WriteString("\n")
		}
		for _, target := range d.Targets {
			line, err := json.Marshal(target)
			require.NoError(t, err)
			fmt.Fprintf(&b, "  target %s\n", line)
		}
	}
	if !slices.EqualFunc(cat.Regions, regions(), sameRegion) {
		for _, r := range cat.Regions {
			fmt.Fprintf(&b, "region %s %v %v\n", r.Name, r.Labels, r.Aliases)
		}
	}
	for _, p := range cat.Problems {
		fmt.Fprintf(&b, "problem %s:%d %s %s\n  %s\n", p.File, p.Line, p.Object, p.Field, p.Message)
	}
	return b.String()
}

func sameRegion(a, b gitops.Region) bool {
	return a.Name == b.Name && maps.Equal(a.Labels, b.Labels) && slices.Equal(a.Aliases, b.Aliases)
}

// app is an Application as short as can be.
func app(name, region string) string {
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s}
spec:
  source: {repoURL: "https://example.com/shop.git", path: apps/%s}
  destination: {name: %s}
  syncPolicy: {automated: {}}
`, name, name, region)
}

func load(t *testing.T, files map[string]string) gitops.Catalog {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, content := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	cat, err := catalog.LoadFS(fsys, options())
	require.NoError(t, err)
	return cat
}

func keys(cat gitops.Catalog) []string {
	names := []string{}
	for _, d := range cat.Deliveries {
		names = append(names, d.Key())
	}
	return names
}

func messages(cat gitops.Catalog) string {
	var b strings.Builder
	for _, p := range cat.Problems {
		fmt.Fprintf(&b, "%s:%d %s\n", p.File, p.Line, p.Message)
	}
	return b.String()
}

func TestDigestsFollowTheContentAndNothingElse(t *testing.T) {
	one := load(t, map[string]string{"a.yaml": app("shop", "eu-1") + "---\n" + app("blog", "eu-2")})
	moved := load(t, map[string]string{"b.yaml": "# a comment\n" + app("blog", "eu-2"), "sub/c.yml": app("shop", "in-cluster")})
	require.Equal(t, one, moved)

	changed := load(t, map[string]string{"a.yaml": app("shop", "us-1") + "---\n" + app("blog", "eu-2")})
	require.Equal(t, keys(one), keys(changed))
	require.NotEqual(t, one.Digest, changed.Digest)
	require.Equal(t, one.Deliveries[0].Digest, changed.Deliveries[0].Digest)
	require.NotEqual(t, one.Deliveries[1].Digest, changed.Deliveries[1].Digest)
	require.Regexp(t, `^[0-9a-f]{64}$`, one.Digest)
}

func TestAffectedAreTheDistinctRefsOfARepository(t *testing.T) {
	cat := load(t, map[string]string{"a.yaml": strings.Join([]string{
		app("shop", "eu-1"), app("blog", "eu-1"), strings.Replace(app("wiki", "eu-1"), "path:", "targetRevision: main, path:", 1),
		strings.Replace(app("other", "eu-1"), "shop.git", "other.git", 1),
	}, "---\n")})
	require.Empty(t, cat.Problems)
	require.Equal(t, []gitops.Ref{
		{Repository: "example.com/shop", Revision: "HEAD"}, {Repository: "example.com/shop", Revision: "main"},
	}, catalog.Affected(cat, "example.com/shop"))
	require.Empty(t, catalog.Affected(cat, "example.com/none"))
}
