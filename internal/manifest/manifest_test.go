package manifest_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// clusterScoped are the kinds of the tests that live in no namespace.
var clusterScoped = []string{"Namespace", "ClusterRole", "CustomResourceDefinition", "PersistentVolume"}

var placement = manifest.Placement{Target: "shop-eu-1", Namespace: "shop", Namespaced: namespaced}

func namespaced(gvk schema.GroupVersionKind) (bool, error) {
	if strings.HasSuffix(gvk.Group, "example.com") {
		return false, manifest.ErrUnknownKind
	}
	for _, kind := range clusterScoped {
		if gvk.Kind == kind {
			return false, nil
		}
	}
	return true, nil
}

// bundle is YAML documents as the JSON list that a renderer makes.
func bundle(t testing.TB, text string) []byte {
	t.Helper()
	objects := []any{}
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var object any
		require.NoError(t, yaml.Unmarshal([]byte(doc), &object))
		objects = append(objects, object)
	}
	data, err := json.Marshal(objects)
	require.NoError(t, err)
	return data
}

// place is what becomes of a bundle: the objects as YAML, or the error.
func place(t *testing.T, text string) string {
	t.Helper()
	objects, err := manifest.Parse(bundle(t, text))
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	placed, err := manifest.Place(objects, placement)
	if err != nil {
		require.ErrorIs(t, err, manifest.ErrInvalid)
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, o := range placed {
		require.Equal(t, o.Key, manifest.KeyOf(o.Content))
		data, err := yaml.Marshal(o.Content)
		require.NoError(t, err)
		options, err := json.Marshal(o.Options)
		require.NoError(t, err)
		b.WriteString("# " + o.Key.String() + " " + string(options) + "\n" + string(data) + "---\n")
	}
	return b.String()
}

// golden compares what each case that matches gives with its golden file.
func golden(t *testing.T, pattern string, play func(t *testing.T, text []byte) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			got := play(t, text)
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

func TestPlace(t *testing.T) {
	golden(t, "testdata/*.yaml", func(t *testing.T, text []byte) string { return place(t, string(text)) })
}

func TestPlaceStopsAtAnErrorThatIsNotTheBundles(t *testing.T) {
	objects, err := manifest.Parse(bundle(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"))
	require.NoError(t, err)
	down := errors.New("no answer")
	p := placement
	p.Namespaced = func(schema.GroupVersionKind) (bool, error) { return false, down }
	_, err = manifest.Place(objects, p)
	require.ErrorIs(t, err, down)
	require.NotErrorIs(t, err, manifest.ErrInvalid)
}

func TestParse(t *testing.T) {
	for name, c := range map[string]struct{ bundle, err string }{
		"no JSON":            {`[{`, "decode the bundle"},
		"no list":            {`{"kind":"ConfigMap"}`, "decode the bundle"},
		"no object":          {`[1]`, "object 1 of the bundle is not an object"},
		"no kind":            {`[{"apiVersion":"v1","metadata":{"name":"a"}}]`, "object 1 of the bundle has no kind"},
		"no version":         {`[{"kind":"ConfigMap","metadata":{"name":"a"}}]`, "object 1 of the bundle, a ConfigMap, has no usable apiVersion"},
		"a strange version":  {`[{"apiVersion":"a/b/c","kind":"ConfigMap","metadata":{"name":"a"}}]`, "has no usable apiVersion"},
		"no name":            {`[{"apiVersion":"v1","kind":"ConfigMap"}]`, "has no name"},
		"a bad item in list": {`[{"apiVersion":"v1","kind":"List","items":[{}]}]`, "item 1 of object 1 of the bundle has no kind"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := manifest.Parse([]byte(c.bundle))
			require.ErrorIs(t, err, manifest.ErrInvalid)
			require.ErrorContains(t, err, c.err)
		})
	}
	objects, err := manifest.Parse([]byte("[]"))
	require.NoError(t, err)
	require.Empty(t, objects)
}

// A case is the annotations of an object and the sync options of its target; the
// golden file says what they ask for.
func TestOptions(t *testing.T) {
	golden(t, "testdata/options/*.yaml", func(t *testing.T, text []byte) string {
		var c struct {
			Annotations map[string]string
			Target      []string
		}
		require.NoError(t, yaml.UnmarshalStrict(text, &c))
		options, err := manifest.TargetOptions(c.Target)
		if err == nil {
			options, err = manifest.ReadOptions(c.Annotations, options)
		}
		if err != nil {
			require.ErrorIs(t, err, manifest.ErrInvalid)
			return "error: " + err.Error() + "\n"
		}
		shown, err := yaml.Marshal(options)
		require.NoError(t, err)
		return string(shown)
	})
}

func TestTracking(t *testing.T) {
	key := gitops.ObjectKey{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	id := manifest.TrackingID("shop-eu-1", key)
	require.Equal(t, "shop-eu-1:apps/Deployment:shop/web", id)
	require.Equal(t, "shop-eu-1", manifest.TrackedBy(id, key))
	key.Name = "copy"
	require.Empty(t, manifest.TrackedBy(id, key), "an annotation that was copied along means nothing")
	require.Empty(t, manifest.TrackedBy("", key))
}

func TestDigestDependsOnContentAlone(t *testing.T) {
	mac := manifest.MAC(func(label string, data []byte) string { return label + " " + string(data) })
	digest := func(text string) string {
		objects, err := manifest.Parse(bundle(t, text))
		require.NoError(t, err)
		encoded, err := manifest.Encode(objects[0])
		require.NoError(t, err)
		return mac.Digest(encoded)
	}
	a := digest("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: 1, y: 2}}")
	require.Equal(t, a, digest("{kind: ConfigMap, data: {y: 2, x: 1}, metadata: {name: a}, apiVersion: v1}"))
	require.NotEqual(t, a, digest("{kind: ConfigMap, data: {y: 2, x: 3}, metadata: {name: a}, apiVersion: v1}"))
}

func TestRedact(t *testing.T) {
	secret := map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": "s", "annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "hunter2", "note": "x"}},
		"data":     map[string]any{"password": "aHVudGVyMg=="}, "stringData": map[string]any{"token": "abc"},
	}
	shown, err := json.Marshal(manifest.Redact(secret))
	require.NoError(t, err)
	for _, value := range []string{"aHVudGVyMg==", "hunter2", "abc"} {
		require.NotContains(t, string(shown), value)
	}
	require.Contains(t, string(shown), `"note":"x"`)
	require.Equal(t, "aHVudGVyMg==", secret["data"].(map[string]any)["password"], "the object itself is left alone")
	require.Equal(t, "bad value (redacted), or (redacted), or (redacted)", manifest.RedactMessage(secret, "bad value hunter2, or aHVudGVyMg==, or abc"))

	settings := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "b"}}
	require.Equal(t, settings, manifest.Redact(settings))
	require.Equal(t, "b", manifest.RedactMessage(settings, "b"))
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","labels":{"x":"y"}},"stringData":{"k":"v"}}]`))
	f.Add([]byte(`[{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{}}]}]`))
	f.Add([]byte(`[{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"a"},"spec":{"names":1}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, err := manifest.Parse(data)
		if err != nil {
			require.ErrorIs(t, err, manifest.ErrInvalid)
			return
		}
		placed, err := manifest.Place(objects, placement)
		if err != nil {
			return
		}
		for _, o := range placed {
			require.Equal(t, o.Key, manifest.KeyOf(o.Content))
			encoded, err := manifest.Encode(o.Content)
			require.NoError(t, err)
			again, err := manifest.Parse([]byte("[" + string(encoded) + "]"))
			require.NoError(t, err, "what is sent to a region can be read again")
			require.Len(t, again, 1)
		}
	})
}
