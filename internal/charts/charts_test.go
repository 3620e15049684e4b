package charts_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/charts"
	"github.com/tidegate/tidegate/internal/gitops"
)

// file is an entry of an archive.
type file struct{ name, content string }

func tgz(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.content))}))
		_, err := io.WriteString(w, f.content)
		require.NoError(t, err)
	}
	require.NoError(t, errors.Join(w.Close(), z.Close()))
	return b.Bytes()
}

func chart(t testing.TB, version string) []byte {
	t.Helper()
	return tgz(t, file{"web/templates/a.yaml", "a: " + version}, file{"web/Chart.yaml", "name: web\nversion: " + version + "\n"})
}

func names(t *testing.T, tree []byte) (list []string) {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(tree))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		list = append(list, h.Name)
	}
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// repo is a Helm repository.
type repo struct {
	*httptest.Server
	files  map[string][]byte
	status atomic.Int32 // answered instead, when it is not 0
	full   atomic.Int32 // answers with a body
	auth   atomic.Value // the last Authorization header
}

func newRepo(t *testing.T, files map[string][]byte) *repo {
	t.Helper()
	r := &repo{files: files}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.auth.Store(request.Header.Get("Authorization"))
		content, ok := r.files[strings.TrimPrefix(request.URL.Path, "/")]
		etag := `"` + sum(content) + `"`
		switch {
		case r.status.Load() != 0:
			w.WriteHeader(int(r.status.Load()))
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		case strings.HasPrefix(string(content), "-> "):
			http.Redirect(w, request, strings.TrimPrefix(string(content), "-> "), http.StatusFound)
		case request.Header.Get("If-None-Match") == etag:
			w.WriteHeader(http.StatusNotModified)
		default:
			r.full.Add(1)
			w.Header().Set("ETag", etag)
			_, _ = w.Write(content)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *repo) source(t *testing.T, chart string) gitops.ChartSource {
	t.Helper()
	s, err := gitops.ParseChartSource(r.URL+"/stable", chart)
	require.NoError(t, err)
	return s
}

func aRepo(t *testing.T) *repo {
	t.Helper()
	one, two := chart(t, "1.2.0"), chart(t, "2.0.0")
	return newRepo(t, map[string][]byte{
		"stable/index.yaml": []byte(fmt.Sprintf(`apiVersion: v1
entries:
  web:
    - {version: 2.0.0, urls: [charts/web-2.0.0.tgz], digest: %s}
    - {version: 2.1.0-rc.1, urls: [charts/none.tgz]}
    - {version: 1.10.0+build, urls: [charts/none.tgz], digest: %[2]s}
    - {version: 1.2.0, urls: [/stable/charts/web-1.2.0.tgz]}
    - {version: 1.1.0, urls: [charts/web-1.2.0.tgz], digest: %[2]s}
  worker: []
`, sum(two), strings.Repeat("0", 64))),
		"stable/charts/web-2.0.0.tgz": two, "stable/charts/web-1.2.0.tgz": one,
	})
}

func TestAVersionOfARepositoryIsResolvedAndPulled(t *testing.T) {
	r := aRepo(t)
	client := charts.New(charts.Options{})
	for revision, want := range map[string]string{"*": "2.0.0", "1.2.0": "1.2.0", "^1.1": "1.10.0+build", "1.2.x": "1.2.0", ">=2.0.0-0": "2.1.0-rc.1"} {
		if want == "2.1.0-rc.1" {
			r.files["stable/charts/none.tgz"] = chart(t, want)
		}
		found, err := client.Resolve(t.Context(), r.source(t, "web"), revision)
		require.NoError(t, err, revision)
		require.Equal(t, want, found.Version, revision)
	}
	found, err := client.Resolve(t.Context(), r.source(t, "web"), "*")
	require.NoError(t, err)
	again, err := charts.ParseVersion(found.String())
	require.NoError(t, err)
	tree, err := client.Pull(t.Context(), r.source(t, "web"), again)
	require.NoError(t, err)
	require.Equal(t, []string{"Chart.yaml", "templates/a.yaml"}, names(t, tree))

	without, err := client.Resolve(t.Context(), r.source(t, "web"), "1.2.0")
	require.NoError(t, err)
	require.Equal(t, "sha256:"+sum(r.files["stable/charts/web-1.2.0.tgz"]), without.Digest, "the index has none")
}

func TestAnIndexThatHasNotChangedIsNotReadAgain(t *testing.T) {
	r := aRepo(t)
	client := charts.New(charts.Options{})
	for range 3 {
		_, err := client.Resolve(t.Context(), r.source(t, "web"), "2.0.0")
		require.NoError(t, err)
	}
	require.Equal(t, int32(1), r.full.Load())
	r.files["stable/index.yaml"] = bytes.ReplaceAll(r.files["stable/index.yaml"], []byte("2.0.0"), []byte("3.0.0"))
	found, err := client.Resolve(t.Context(), r.source(t, "web"), "*")
	require.NoError(t, err)
	require.Equal(t, "3.0.0", found.Version)
}

func TestWhatCannotBePulledIsExplained(t *testing.T) {
	for claim, c := range map[string]struct {
		change   func(*repo)
		chart    string
		revision string
		kind     charts.Kind
		want     string
	}{
		"a chart that is not there":     {chart: "wbe", revision: "*", kind: charts.KindMissing, want: "no chart of this name; nearest: web"},
		"a version that is not there":   {chart: "web", revision: "1.3.0", kind: charts.KindMissing, want: `"1.3.0"; nearest: `},
		"a revision that is no version": {chart: "web", revision: "main", kind: charts.KindMissing, want: `no version "main", and it is no range`},
		"a chart without versions":      {chart: "worker", revision: "*", kind: charts.KindMissing, want: `no version is in "*"`},
		"another content than promised": {chart: "web", revision: "1.1.0", kind: charts.KindContent, want: "published again"},
		"no index":                      {change: func(r *repo) { delete(r.files, "stable/index.yaml") }, chart: "web", revision: "*", kind: charts.KindMissing, want: "has no /stable/index.yaml"},
		"an index that is none":         {change: func(r *repo) { r.files["stable/index.yaml"] = []byte("<html>") }, chart: "web", revision: "*", kind: charts.KindContent, want: "index.yaml cannot be read"},
		"a password":                    {change: func(r *repo) { r.status.Store(401) }, chart: "web", revision: "*", kind: charts.KindAuth, want: "git.credentials"},
		"a server that fails":           {change: func(r *repo) { r.status.Store(503) }, chart: "web", revision: "*", kind: charts.KindUnavailable, want: "503"},
		"an archive that is not there":  {change: func(r *repo) { delete(r.files, "stable/charts/web-2.0.0.tgz") }, chart: "web", revision: "2.0.0", kind: charts.KindMissing, want: "web-2.0.0.tgz"},
		"an archive that is no chart": {
			change: func(r *repo) { r.files["stable/charts/web-1.2.0.tgz"] = tgz(t, file{"web/values.yaml", ""}) },
			chart:  "web", revision: "1.2.0", kind: charts.KindContent, want: "no Chart.yaml",
		},
		"an archive that leads out": {
			change: func(r *repo) {
				r.files["stable/charts/web-1.2.0.tgz"] = tgz(t, file{"web/Chart.yaml", ""}, file{"web/../../evil", "x"})
			},
			chart: "web", revision: "1.2.0", kind: charts.KindContent, want: "web/../../evil: chart illegally references parent directory",
		},
		"an archive with an absolute name": {
			change: func(r *repo) {
				r.files["stable/charts/web-1.2.0.tgz"] = tgz(t, file{"web/Chart.yaml", ""}, file{"web//etc/evil", "x"})
			},
			chart: "web", revision: "1.2.0", kind: charts.KindContent, want: "absolute paths",
		},
		"an archive that is a bomb": {
			change: func(r *repo) {
				r.files["stable/charts/web-1.2.0.tgz"] = tgz(t, file{"web/Chart.yaml", "name: web\nversion: 1.2.0\n"}, file{"web/zeros", strings.Repeat("0", 101<<20)})
			},
			chart: "web", revision: "1.2.0", kind: charts.KindContent, want: "web/zeros: decompressed chart is larger",
		},
	} {
		t.Run(claim, func(t *testing.T) {
			r := aRepo(t)
			if c.change != nil {
				c.change(r)
			}
			client := charts.New(charts.Options{})
			version, err := client.Resolve(t.Context(), r.source(t, c.chart), c.revision)
			if err == nil {
				_, err = client.Pull(t.Context(), r.source(t, c.chart), version)
			}
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestOnlyTheRepositoryHearsItsPassword(t *testing.T) {
	elsewhere := newRepo(t, map[string][]byte{"web.tgz": chart(t, "1.0.0")})
	r := newRepo(t, map[string][]byte{"stable/index.yaml": []byte("entries: {web: [{version: 1.0.0, urls: [" + elsewhere.URL + "/web.tgz]}]}")})
	client := charts.New(charts.Options{Credentials: func(identity string) (charts.Credential, bool) {
		require.Equal(t, r.source(t, "web").Identity, identity)
		return charts.Credential{Username: "me", Password: "secret"}, true
	}})
	_, err := client.Resolve(t.Context(), r.source(t, "web"), "1.0.0")
	require.ErrorContains(t, err, "neither an index nor a redirect may lead to 127.0.0.1")
	require.NotEmpty(t, r.auth.Load())
	require.Nil(t, elsewhere.auth.Load())
}

func TestARedirectDoesNotLeadToThisMachine(t *testing.T) {
	inner := newRepo(t, map[string][]byte{"stable/index.yaml": []byte("entries: {}")})
	r := newRepo(t, map[string][]byte{"stable/index.yaml": []byte("-> " + inner.URL + "/stable/index.yaml")})
	_, err := charts.New(charts.Options{}).Resolve(t.Context(), r.source(t, "web"), "*")
	require.ErrorContains(t, err, "may lead to 127.0.0.1")
	require.Zero(t, inner.full.Load())
}

func TestChartSources(t *testing.T) {
	for raw, want := range map[string]gitops.ChartSource{
		"https://Charts.example.com/":  {Identity: "charts.example.com#web", Repository: "https://Charts.example.com", Chart: "web"},
		"oci://ghcr.io/Acme/charts":    {Identity: "ghcr.io/Acme/charts#web", OCI: true, Repository: "ghcr.io/Acme/charts/web", Chart: "web"},
		"registry-1.docker.io/bitnami": {Identity: "registry-1.docker.io/bitnami#web", OCI: true, Repository: "registry-1.docker.io/bitnami/web", Chart: "web"},
	} {
		got, err := gitops.ParseChartSource(raw, "web")
		require.NoError(t, err, raw)
		require.Equal(t, want, got, raw)
	}
	whole, err := gitops.ParseChartSource("oci://ghcr.io/acme/web", "")
	require.NoError(t, err)
	require.Equal(t, gitops.ChartSource{Identity: "ghcr.io/acme#web", OCI: true, Repository: "ghcr.io/acme/web", Chart: "web"}, whole)
	for _, raw := range []string{"", "git@example.com:a/b", "https://me:pw@example.com", "file:///charts", "https://example.com/?x", "oci://"} {
		_, err := gitops.ParseChartSource(raw, "web")
		require.Error(t, err, raw)
		require.NotContains(t, err.Error(), "pw")
	}
	_, err = gitops.ParseChartSource("https://example.com", "../x")
	require.Error(t, err)
	_, err = url.Parse(whole.Repository)
	require.NoError(t, err)
}

// FuzzPull: whatever an archive holds, it is a tree with Chart.yaml or an error.
func FuzzPull(f *testing.F) {
	f.Add(chart(f, "1.0.0"))
	f.Add(tgz(f, file{"web/Chart.yaml", ""}, file{"/etc/passwd", "x"}))
	f.Fuzz(func(t *testing.T, archive []byte) {
		if tree, err := charts.Repack(archive); err == nil {
			require.Contains(t, names(t, tree), "Chart.yaml")
		}
	})
}

// FuzzIndex: whatever an index holds, it is read or refused.
func FuzzIndex(f *testing.F) {
	f.Add([]byte("entries: {web: [{version: 1.0.0, urls: [a], digest: x}]}"))
	f.Add([]byte("entries: [1]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if entries, err := charts.ParseIndex(text); err == nil {
			require.NotNil(t, entries)
		}
	})
}

func TestAFileIsATreeOfItsOwn(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/a/values.yaml" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, "a: 1\n")
	}))
	defer server.Close()
	tree, err := charts.New(charts.Options{}).File(t.Context(), server.URL+"/a/values.yaml", "content")
	require.NoError(t, err)
	archive := tar.NewReader(bytes.NewReader(tree))
	header, err := archive.Next()
	require.NoError(t, err)
	require.Equal(t, "content", header.Name)
	data, err := io.ReadAll(archive)
	require.NoError(t, err)
	require.Equal(t, "a: 1\n", string(data))
	_, err = charts.New(charts.Options{}).File(t.Context(), server.URL+"/b", "content")
	require.ErrorIs(t, err, charts.KindMissing)
	require.Regexp(t, `^file 127\.0\.0\.1:\d+/b: 127\.0\.0\.1:\d+ has no /b$`, err.Error())
}
