package catalog_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/catalog"
)

func TestABrokenDocumentLeavesTheOthersOfItsFile(t *testing.T) {
	cat := load(t, map[string]string{"a.yaml": app("first", "eu-1") + "---\nkind: [\n--- # the last\n" + app("last", "eu-1")})
	require.Equal(t, []string{"default/first", "default/last"}, keys(cat))
	require.Len(t, cat.Problems, 1)
	require.Equal(t, "a.yaml", cat.Problems[0].File)
	require.InDelta(t, 9, cat.Problems[0].Line, 1)
}

func TestMarkersWithinAValueDoNotSplitIt(t *testing.T) {
	text := strings.Replace(app("shop", "eu-1"), "spec:\n", "spec:\n  info:\n    - name: |\n        ---\n        kind: [\n", 1)
	require.Empty(t, load(t, map[string]string{"a.yaml": "%YAML 1.1\n---\n" + text + "...\n"}).Problems)
}

func TestLinesAreThoseOfTheFile(t *testing.T) {
	cat := load(t, map[string]string{"a.yaml": app("first", "eu-1") + "---\n" + strings.Replace(app("second", "eu-1"), "spec:\n", "spec:\n  colour: blue\n", 1)})
	require.Equal(t, "a.yaml:13 unknown field spec.colour\n", messages(cat))
}

func TestAnchorsAndMergeKeysAreWrittenOut(t *testing.T) {
	cat := load(t, map[string]string{"a.yaml": `
apiVersion: v1
kind: List
items:
  - &first
    apiVersion: argoproj.io/v1alpha1
    kind: Application
    metadata: {name: one}
    spec: &spec
      project: shop
      source: {repoURL: "https://example.com/shop", path: a}
      destination: {name: eu-1}
  - <<: *first
    metadata: {name: two}
    spec: {<<: *spec, destination: {name: us-1}}
`})
	require.Empty(t, cat.Problems)
	require.Equal(t, []string{"shop/one", "shop/two"}, keys(cat))
	require.Equal(t, "us-1", cat.Deliveries[1].Targets[0].Region)
}

func TestSmallFilesThatUnfoldHugelyAreRefusedAtOnce(t *testing.T) {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 12 {
		name, below := string(rune('b'+i)), string(rune('a'+i))
		bomb += name + "0: &" + name + "0 [" + strings.Repeat("*"+below+"0,", 9) + "*" + below + "0]\n"
	}
	for name, text := range map[string]string{
		"aliases": bomb, "self": "a: &a [*a]\n", "deep": strings.Repeat("[", 5000), "merge": "a: &a {<<: *a}\n",
	} {
		start := time.Now()
		cat := load(t, map[string]string{"bomb.yaml": text, "app.yaml": app("shop", "eu-1")})
		require.Less(t, time.Since(start), 5*time.Second, name)
		require.Len(t, cat.Problems, 1, name)
		require.Equal(t, []string{"default/shop"}, keys(cat), name)
	}
}

// Whatever a file holds, it stops no other, and its problems have a place.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		app("shop", "eu-1"), pipelineOf("shop"), "a: &a [*a]", "<<: {a: b}", "--- |\n---\n%YAML", "kind: List\napiVersion: v1\nitems: [1]",
		setOf("{{.name}}", "goTemplate: true", "clusters: {}"), setOf("{{name}}-{{values.x}}", "goTemplate: false", `clusters: {values: {x: "{{server}}"}}`),
		setOf("{{a}}", "goTemplate: false", "list: {elements: [{a: b, values: {c: d}}]}"),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys := fstest.MapFS{"fuzz.yaml": &fstest.MapFile{Data: data}, "other.yaml": &fstest.MapFile{Data: []byte(pipelineOf("other"))}}
		cat, err := catalog.LoadFS(fsys, options())
		require.NoError(t, err)
		again, err := catalog.LoadFS(fsys, options())
		require.NoError(t, err)
		require.Equal(t, cat, again)
		for _, p := range cat.Problems {
			require.NotEmpty(t, p.Message)
			require.Contains(t, fsys, p.File)
		}
		for _, d := range cat.Deliveries {
			require.NotEmpty(t, d.Targets)
			require.NotEmpty(t, d.Digest)
			for _, target := range d.Targets {
				require.Contains(t, []string{"eu-1", "eu-2", "us-1", "us-2"}, target.Region)
			}
		}
	})
}

// setOf is an ApplicationSet with one generator.
func setOf(name, mode, generator string) string {
	return `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: set}
spec:
  ` + mode + `
  generators:
    - ` + generator + `
  template:
    metadata: {name: '` + name + `'}
    spec:
      source: {repoURL: "https://example.com/shop.git", path: apps}
      destination: {name: us-1}
      syncPolicy: {automated: {}}
`
}

func FuzzReadOverride(f *testing.F) {
	f.Add([]byte("kustomize: {images: [a:b]}\nhelm: {valuesObject: {a: 1}}\n"))
	f.Add([]byte("plugin: {env: [{name: a, value: b}]}\n---\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		options, problem := catalog.ReadOverride("a.yaml", text)
		if problem == nil && options.RepoURL != "" {
			t.Fatal("a repository is no option")
		}
	})
}
