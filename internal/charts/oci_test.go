package charts_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/tidegate/tidegate/internal/charts"
	"github.com/tidegate/tidegate/internal/gitops"
)

// newRegistry is a real registry with a chart in some versions. It wants a
// password when one is given.
func newRegistry(t *testing.T, password string, versions ...string) gitops.ChartSource {
	t.Helper()
	open := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	var locked atomic.Bool // once everything is pushed
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, given, _ := r.BasicAuth(); locked.Load() && given != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="charts"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		open.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	for _, version := range versions {
		push(t, host+"/acme/web", strings.ReplaceAll(version, "+", "_"), content.NewDescriptorFromBytes("application/vnd.cncf.helm.chart.content.v1.tar+gzip", chart(t, version)), chart(t, version))
	}
	push(t, host+"/acme/image", "1.0.0", content.NewDescriptorFromBytes("application/octet-stream", []byte("x")), []byte("x"))
	locked.Store(true)
	source, err := gitops.ParseChartSource("oci://"+host+"/acme", "web")
	require.NoError(t, err)
	return source
}

func push(t *testing.T, name, tag string, layer ocispec.Descriptor, data []byte) {
	t.Helper()
	r, err := remote.NewRepository(name)
	require.NoError(t, err)
	r.PlainHTTP = true
	require.NoError(t, r.Push(t.Context(), layer, strings.NewReader(string(data))))
	manifest, err := oras.PackManifest(t.Context(), r, oras.PackManifestVersion1_1, "application/vnd.cncf.helm.config.v1+json", oras.PackManifestOptions{Layers: []ocispec.Descriptor{layer}})
	require.NoError(t, err)
	require.NoError(t, r.Tag(t.Context(), manifest, tag))
}

func TestAVersionInARegistryIsResolvedAndPulled(t *testing.T) {
	source := newRegistry(t, "", "1.2.0", "1.10.0+build.1", "2.0.0-rc.1")
	client := charts.New(charts.Options{})
	for revision, want := range map[string]string{"*": "1.10.0+build.1", "~1.2": "1.2.0", "1.2.0": "1.2.0", ">=2-0": "2.0.0-rc.1"} {
		found, err := client.Resolve(t.Context(), source, revision)
		require.NoError(t, err, revision)
		require.Equal(t, want, found.Version, revision)
		tree, err := client.Pull(t.Context(), source, found)
		require.NoError(t, err, revision)
		require.Equal(t, []string{"Chart.yaml", "templates/a.yaml"}, names(t, tree))
		pinned, err := client.Resolve(t.Context(), source, found.Digest)
		require.NoError(t, err)
		require.Equal(t, found.Digest, pinned.Digest)
	}
}

func TestARegistrysRefusalsAreExplained(t *testing.T) {
	source := newRegistry(t, "", "1.2.0")
	client := charts.New(charts.Options{})
	_, err := client.Resolve(t.Context(), source, "3.0.0")
	require.ErrorIs(t, err, charts.KindMissing)
	require.ErrorContains(t, err, "find version 3.0.0: the registry does not have it")
	_, err = client.Resolve(t.Context(), source, "^3")
	require.ErrorIs(t, err, charts.KindMissing)
	require.ErrorContains(t, err, `no version is in "^3"; nearest: 1.2.0`)

	image := source
	image.Repository = strings.TrimSuffix(source.Repository, "web") + "image"
	found, err := client.Resolve(t.Context(), image, "1.0.0")
	require.NoError(t, err)
	_, err = client.Pull(t.Context(), image, found)
	require.ErrorIs(t, err, charts.KindContent)
	require.ErrorContains(t, err, "is no Helm chart")

	image.Repository += "s"
	_, err = client.Resolve(t.Context(), image, "*")
	require.ErrorIs(t, err, charts.KindMissing)
}

func TestARegistryHearsItsPassword(t *testing.T) {
	source := newRegistry(t, "secret", "1.2.0")
	_, err := charts.New(charts.Options{}).Resolve(t.Context(), source, "1.2.0")
	require.ErrorIs(t, err, charts.KindAuth)
	for password, works := range map[string]bool{"secret": true, "hunter2": false} {
		client := charts.New(charts.Options{Credentials: func(identity string) (charts.Credential, bool) {
			return charts.Credential{Username: "me", Password: password}, identity == source.Identity
		}})
		found, err := client.Resolve(t.Context(), source, "*")
		if !works {
			require.ErrorIs(t, err, charts.KindAuth)
			require.NotContains(t, err.Error(), "hunter2")
			continue
		}
		require.NoError(t, err)
		_, err = client.Pull(t.Context(), source, found)
		require.NoError(t, err)
	}
}
