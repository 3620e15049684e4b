package renderer

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzAddFile: whatever a file holds, it is an error or a list of objects with
// names that is rendered to the same bytes again.
func FuzzAddFile(f *testing.F) {
	for _, seed := range []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n# nothing\n...\n",
		"--- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: A, metadata: {name: a}}]}",
		"%YAML 1.1\n---\na: &a [*a, *a]\n", "\xef\xbb\xbfkind: x\r\n---\r\n", "? [a]\n: b", "{\"kind\": 1}{}", "a: !!binary x",
	} {
		f.Add("a.yaml", []byte(seed))
		f.Add("a.json", []byte(seed))
	}
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		var found objects
		if found.addFile(name, text) != nil {
			return
		}
		for _, o := range found.list {
			require.NotEmpty(t, o.key.Name)
			require.NotEmpty(t, o.key.Kind)
		}
		var again objects
		require.NoError(t, again.addFile(name, text))
		require.Equal(t, found, again)
	})
}

// FuzzSplitDocuments: nothing is lost and lines are counted right.
func FuzzSplitDocuments(f *testing.F) {
	f.Add([]byte("a\n---\nb\n...\nc\n--- d\n---"))
	f.Add([]byte("---\n---\n\n---x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
		lines := bytes.SplitAfter(text, []byte("\n"))
		for _, d := range splitDocuments(append([]byte("\xef\xbb\xbf"), text...)) {
			if len(d.text) > 0 {
				first := d.text[:bytes.IndexByte(append(bytes.Clone(d.text), '\n'), '\n')]
				require.Equal(t, string(bytes.TrimSuffix(lines[d.line-1], []byte("\n"))), string(first))
			}
			text = bytes.TrimPrefix(text, d.text)
			if i := bytes.IndexByte(append(bytes.Clone(text), '\n'), '\n'); isSeparator(text, "...") {
				text = text[min(i+1, len(text)):]
			}
		}
		require.Empty(t, text)
	})
}

// FuzzPattern: a pattern is read or refused, and never a panic.
func FuzzPattern(f *testing.F) {
	for _, seed := range []string{"*", "**/*.yaml", "{a,b/*}", "[!a-z]?", `\{`, "{", "[", "{{a},b}"} {
		f.Add(seed, "env/a.yaml")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		match, err := pattern("include", text)
		if err == nil {
			require.Equal(t, match(name, true), match(name, true))
		}
	})
}

// FuzzRequest: a request is answered or refused, and never a panic.
func FuzzRequest(f *testing.F) {
	f.Add(`{"path": "."}`)
	f.Add(`{"path": "app", "kustomize": {"images": ["a=b:c"]}}`)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		var out bytes.Buffer
		if Run(t.Context(), dir, "", bytes.NewReader([]byte(text)), &out) == nil {
			require.True(t, json.Valid(out.Bytes()[bytes.IndexByte(out.Bytes(), '\n')+1:]))
		}
	})
}

// FuzzImage: an override that is accepted names an image and changes something.
func FuzzImage(f *testing.F) {
	for _, seed := range []string{"a", "a=b:c", "registry:5000/a@sha256:1", "=", "a=*:v1", "a=b@x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		image, err := parseImage(text)
		if err == nil {
			require.NotEmpty(t, image.Name)
			require.NotEmpty(t, image.NewName+image.NewTag+image.Digest)
		}
	})
}

func FuzzRemote(f *testing.F) {
	for _, seed := range []string{
		"https://github.com/kubernetes-sigs/kustomize//examples/multibases/dev/?ref=v1.0.6", "github.com/Liujingfang1/mysql", "git@github.com:owner/repo.git//a?ref=b",
		"ssh://git@host:22/owner/repo", "https://dev.azure.com/org/project/_git/repo/path?version=main", "git::https://host/a/b.git/c", "https://host", "file:///srv/a//b",
	} {
		f.Add("resources", seed)
	}
	f.Add("patches", "https://host/patch.yaml")
	f.Fuzz(func(t *testing.T, field, value string) {
		need, inside, err := remoteOf(field, value)
		if err != nil || need == nil {
			return
		}
		if need.URL == "" || path.IsAbs(inside) || inside == ".." || strings.HasPrefix(inside, "../") {
			t.Fatalf("%q is %+v, %q", value, need, inside)
		}
	})
}
