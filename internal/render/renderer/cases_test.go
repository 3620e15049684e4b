package renderer

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

var update = flag.Bool("update", false, "rewrite the golden parts of testdata/cases")

// TestCases renders the trees in testdata/cases. A case is a claim, then parts
// that each begin with a line "-- name --": "request", files, links ("-- name ->
// target --") and at the end "want". Files of another checkout are named
// ../refs/name/file; those of a need that was fetched are named "need git URL
// revision file", "need chart URL chart version file" or "need file URL".
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			c := parseCase(string(text))
			got := show(t, answer(t, c.plant(t), c.request))
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(c.before+"-- want --\n"+got), 0o600))
				return
			}
			require.Equal(t, c.want, got, c.claim)
		})
	}
}

type testCase struct {
	claim, before, request, want string
	files                        []part
}

type part struct{ name, content string }

var partLine = regexp.MustCompile(`(?m)^-- (.+) --\n`)

func parseCase(text string) testCase {
	var c testCase
	marks := partLine.FindAllStringSubmatchIndex(text, -1)
	c.claim, c.before = strings.TrimSpace(text[:marks[0][0]]), text
	for i, m := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		switch name, content := text[m[2]:m[3]], text[m[1]:end]; name {
		case "request":
			c.request = content
		case "want":
			c.before, c.want = text[:m[0]], content
		default:
			c.files = append(c.files, part{name, content})
		}
	}
	return c
}

func (c testCase) plant(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	require.NoError(t, os.Mkdir(dir, 0o750))
	for _, f := range c.files {
		name, target, isLink := strings.Cut(f.name, " -> ")
		if needed, ok := strings.CutPrefix(name, "need "); ok {
			name = "../refs/" + needPath(strings.Fields(needed))
		}
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
		if isLink {
			require.NoError(t, os.Symlink(target, file))
			continue
		}
		require.NoError(t, os.WriteFile(file, []byte(f.content), 0o600))
	}
	return dir
}

func needPath(words []string) string {
	switch words[0] {
	case "git":
		return gitops.Need{Kind: gitops.NeedGit, URL: words[1], Revision: words[2]}.Name() + "/" + words[3]
	case "chart":
		return gitops.Need{Kind: gitops.NeedChart, URL: words[1], Chart: words[2], Revision: words[3]}.Name() + "/" + words[4]
	default:
		return gitops.Need{Kind: gitops.NeedFile, URL: words[1]}.Name() + "/" + gitops.NeedContent
	}
}

// answer renders a tree. Beside it may be a folder refs with other checkouts.
func answer(t testing.TB, dir, request string) render.Result {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, Run(t.Context(), dir, filepath.Join(filepath.Dir(dir), "refs"), strings.NewReader(request), &out))
	require.NotContains(t, out.String(), dir, "the machine's paths are nobody's business")
	result, err := render.ReadResult(out.Bytes())
	require.NoError(t, err)
	return result
}

// show is a result in a form that people can compare.
func show(t *testing.T, r render.Result) string {
	t.Helper()
	var b strings.Builder
	if r.Error != nil {
		b.WriteString("error " + string(r.Error.Kind) + ": " + r.Error.Error() + "\n")
	}
	if r.Renderer != "" {
		b.WriteString("renderer " + r.Renderer + "\n")
	}
	for _, need := range r.Needs {
		b.WriteString("need " + string(need.Kind) + " " + need.String() + "\n")
	}
	for _, name := range r.Reads {
		b.WriteString("read " + name + "\n")
	}
	for _, name := range slices.Sorted(maps.Keys(r.RefReads)) {
		for _, file := range r.RefReads[name] {
			b.WriteString("read $" + name + "/" + file + "\n")
		}
	}
	for _, call := range r.Unstable {
		b.WriteString("unstable " + call + "\n")
	}
	var objects []json.RawMessage
	if len(r.Objects) > 0 {
		require.NoError(t, json.Unmarshal(r.Objects, &objects))
	}
	require.Len(t, objects, r.Count)
	for _, o := range objects {
		b.WriteString(string(o) + "\n")
	}
	return b.String()
}
