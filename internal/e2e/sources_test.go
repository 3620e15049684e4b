package e2e_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/tidegate/tidegate/internal/promotion"
)

// chartOf is the archive of a chart with one ConfigMap, named after it, that
// shows its version and the value of region.
func chartOf(t *testing.T, name, version string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range [][2]string{
		{"Chart.yaml", fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", name, version)},
		{"templates/a.yaml", fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata:\n  version: {{ .Chart.Version | quote }}\n  region: {{ .Values.region | quote }}\n", name)},
	} {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name + "/" + f[0], Mode: 0o644, Size: int64(len(f[1]))}))
		_, err := io.WriteString(w, f[1])
		require.NoError(t, err)
	}
	require.NoError(t, errors.Join(w.Close(), z.Close()))
	return b.Bytes()
}

// helmRepository is a Helm repository with versions of one chart.
type helmRepository struct {
	*httptest.Server
	mu       sync.Mutex
	archives map[string][]byte // by version
}

func newHelmRepository(t *testing.T) *helmRepository {
	t.Helper()
	r := &helmRepository{archives: map[string][]byte{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if request.URL.Path == "/index.yaml" {
			_, _ = io.WriteString(w, "apiVersion: v1\nentries:\n  web:\n")
			for _, version := range slices.Sorted(maps.Keys(r.archives)) {
				_, _ = fmt.Fprintf(w, "    - {version: %[1]s, urls: [%[1]s.tgz]}\n", version)
			}
			return
		}
		_, _ = w.Write(r.archives[strings.TrimSuffix(request.URL.Path[1:], ".tgz")])
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *helmRepository) publish(t *testing.T, version string) {
	t.Helper()
	archive := chartOf(t, "web", version)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.archives[version] = archive
}

// newRegistry is an OCI registry with one chart; it returns its host.
func newRegistry(t *testing.T, name, version string) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	r, err := remote.NewRepository(host + "/charts/" + name)
	require.NoError(t, err)
	r.PlainHTTP = true
	data := chartOf(t, name, version)
	layer := content.NewDescriptorFromBytes("application/vnd.cncf.helm.chart.content.v1.tar+gzip", data)
	require.NoError(t, r.Push(t.Context(), layer, bytes.NewReader(data)))
	manifest, err := oras.PackManifest(t.Context(), r, oras.PackManifestVersion1_1, "application/vnd.cncf.helm.config.v1+json", oras.PackManifestOptions{Layers: []ocispec.Descriptor{layer}})
	require.NoError(t, err)
	require.NoError(t, r.Tag(t.Context(), manifest, version))
	return host
}

// TestSourcesOfSeveralKinds is one Application of four sources: values in Git, a
// chart of a Helm repository that uses them, a chart of a registry, and a plain
// folder.
func TestSourcesOfSeveralKinds(t *testing.T) {
	charts := newHelmRepository(t)
	charts.publish(t, "1.0.0")
	charts.publish(t, "2.0.0")
	host := newRegistry(t, "extra", "0.1.0")
	w := newWorld(t, options{poll: time.Second, stages: []stage{{name: "all", regions: []string{"dev-1", "staging-1"}}}, catalog: func(w *world) string {
		return strings.Replace(w.applicationSetOf(w.name, "null"), "source: null", fmt.Sprintf(`sources:
        - {repoURL: %[1]q, targetRevision: main, ref: values}
        - {repoURL: %[2]q, chart: web, targetRevision: 1.x, helm: {valueFiles: ['$values/values/{{name}}.yaml']}}
        - {repoURL: %[3]q, chart: extra, targetRevision: 0.1.0}
        - {repoURL: %[1]q, targetRevision: main, path: plain}`, w.repo.URL, charts.URL, host+"/charts"), 1) + w.pipeline(w.name)
	}})
	w.push(files{
		"values/dev-1.yaml": "region: first", "values/staging-1.yaml": "region: second",
		"plain/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {version: one}\n",
	})
	w.step("every source arrives", func(*testing.T) {
		w.untilConfigMap("dev-1", "web", map[string]string{"version": "1.0.0", "region": "first"})
		w.untilConfigMap("staging-1", "web", map[string]string{"version": "1.0.0", "region": "second"})
		w.untilConfigMap("staging-1", "extra", map[string]string{"version": "0.1.0", "region": ""})
		w.untilConfigMap("staging-1", "plain", map[string]string{"version": "one"})
	})
	w.step("a change of values in Git changes the chart's objects, there only", func(t *testing.T) {
		before := w.now()
		w.push(files{"values/dev-1.yaml": "region: changed"})
		w.untilConfigMap("dev-1", "web", map[string]string{"version": "1.0.0", "region": "changed"})
		require.Empty(t, withoutInventory(w.writes("staging-1", before)))
	})
	w.step("a new version in the range is found by asking", func(*testing.T) {
		charts.publish(w.t, "1.1.0")
		w.untilConfigMap("dev-1", "web", map[string]string{"version": "1.1.0", "region": "changed"})
		w.untilConfigMap("staging-1", "web", map[string]string{"version": "1.1.0", "region": "second"})
	})
}

// TestManifestsThatReferToElsewhere is a kustomization with a base in another
// repository, a file of a web server, and a chart.
func TestManifestsThatReferToElsewhere(t *testing.T) {
	web := newHelmRepository(t)
	web.publish(t, "1.0.0")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: file}\ndata: {from: file}\n")
	}))
	t.Cleanup(server.Close)
	w := newWorld(t, options{remote: []string{"'*'"}, stages: []stage{{name: "all", regions: []string{"dev-1", "staging-1"}}}})
	base := w.git.NewRepo("base")
	configMap := func(version string) map[string]string {
		return map[string]string{
			"deploy/kustomization.yaml": "resources: [a.yaml]\n",
			"deploy/a.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base}\ndata: {version: " + version + "}\n",
		}
	}
	base.CommitFiles(configMap("one"), "one")
	base.Push("main")
	kustomization := func(label string) files {
		return files{"app/kustomization.yaml": fmt.Sprintf(`
commonAnnotations: {team: %s}
resources:
- %s//deploy?ref=main
- %s/file.yaml
helmCharts:
- {name: web, repo: %s, version: 1.x, releaseName: web, valuesInline: {region: everywhere}}
`, label, base.URL, server.URL, web.URL)}
	}
	w.push(kustomization("a"))
	w.step("each arrives", func(*testing.T) {
		w.untilConfigMap("dev-1", "base", map[string]string{"version": "one"})
		w.untilConfigMap("staging-1", "file", map[string]string{"from": "file"})
		w.untilConfigMap("staging-1", "web", map[string]string{"version": "1.0.0", "region": "everywhere"})
	})
	w.step("what a branch of the base means is found out with the next push", func(*testing.T) {
		base.CommitFiles(configMap("two"), "two")
		base.Push("main")
		w.push(kustomization("b"))
		w.untilConfigMap("dev-1", "base", map[string]string{"version": "two"})
	})
}

func TestWhatManifestsMayNotReferTo(t *testing.T) {
	w := newWorld(t, options{remote: []string{"https://example.com"}, stages: []stage{{name: "all", regions: []string{"dev-1"}}}})
	w.push(files{"app/kustomization.yaml": "resources: ['https://elsewhere.example.com/a.yaml']\n"})
	w.untilState("the way out is shown", func(s promotion.State) bool {
		return strings.Contains(fmt.Sprint(s.Status()), "git.remoteSources in the settings does not allow it; add elsewhere.example.com/a.yaml or what it begins with")
	})
	w.push(files{"app/kustomization.yaml": "resources: [a.yaml]\n", "app/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\ndata: {a: b}\n"})
	w.untilConfigMap("dev-1", "own", map[string]string{"a": "b"})
}

// TestAPlugin renders by commands, in the sandbox where the host has one, with what
// the Application sets and values per region.
func TestAPlugin(t *testing.T) {
	w := newWorld(t, options{plugin: `
apiVersion: argoproj.io/v1alpha1
kind: ConfigManagementPlugin
metadata: {name: template}
spec:
  version: v1
  init: {command: [sh, -c, 'sed "s/@stack@/$ARGOCD_ENV_STACK/" template > made.yaml']}
  generate: {command: [cat, made.yaml]}
`, stages: []stage{{name: "all", regions: []string{"dev-1", "staging-1"}}}, catalog: func(w *world) string {
		set := w.applicationSetOf(w.name, fmt.Sprintf("{repoURL: %q, targetRevision: main, path: app, plugin: {name: template-v1, env: [{name: STACK, value: of-$ARGOCD_APP_NAME}]}}", w.repo.URL))
		return strings.Replace(set, "      name: '"+w.name+"-{{name}}'\n", "      name: '"+w.name+"-{{name}}'\n      annotations: {tidegate.dev/substitute: 'region: {{name}}'}\n", 1) + w.pipeline(w.name)
	}})
	w.push(files{"app/template": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made}\ndata: {stack: \"@stack@\", region: \"${region}\"}\n"})
	w.untilConfigMap("dev-1", "made", map[string]string{"stack": "of-" + w.name + "-dev-1", "region": "dev-1"})
	w.untilConfigMap("staging-1", "made", map[string]string{"stack": "of-" + w.name + "-staging-1", "region": "staging-1"})
}

// untilConfigMap waits until a ConfigMap of the world's namespace holds this.
func (w *world) untilConfigMap(region, name string, want map[string]string) {
	w.t.Helper()
	w.until(fmt.Sprintf("ConfigMap %s of %s holds %v", name, region, want), func(ctx context.Context) (bool, any) {
		found, err := w.kube(region).CoreV1().ConfigMaps(w.name).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return maps.Equal(found.Data, want), found.Data
	})
}
