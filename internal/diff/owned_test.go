package diff_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/tidegate/tidegate/internal/diff"
)

// The objects in testdata were applied to a real API server and read back.
func load(t testing.TB, name string) map[string]any {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".json")
	require.NoError(t, err)
	var object map[string]any
	require.NoError(t, utiljson.Unmarshal(data, &object))
	return object
}

func at(object map[string]any, path ...string) map[string]any {
	for _, p := range path {
		object = object[p].(map[string]any)
	}
	return object
}

func containers(object map[string]any) []any {
	return at(object, "spec", "template", "spec")["containers"].([]any)
}

// entry is our managedFields entry.
func entry(object map[string]any) map[string]any {
	for _, e := range at(object, "metadata")["managedFields"].([]any) {
		if e := e.(map[string]any); e["manager"] == "tidegate" && e["operation"] == "Apply" {
			return e
		}
	}
	return nil
}

func TestOwned(t *testing.T) {
	for name, c := range map[string]struct {
		change func(map[string]any)
		same   bool
	}{
		"nothing changed":        {func(map[string]any) {}, true},
		"status":                 {func(o map[string]any) { o["status"] = map[string]any{"replicas": int64(3)} }, true},
		"a defaulted field":      {func(o map[string]any) { at(o, "spec")["revisionHistoryLimit"] = int64(3) }, true},
		"another's label":        {func(o map[string]any) { at(o, "metadata", "labels")["other"] = "v" }, true},
		"the same as a float":    {func(o map[string]any) { at(o, "spec")["replicas"] = 2.0 }, true},
		"another's container":    {func(o map[string]any) { addContainer(o, map[string]any{"name": "proxy"}) }, true},
		"an owned field":         {func(o map[string]any) { at(o, "spec")["replicas"] = int64(3) }, false},
		"an owned field is gone": {func(o map[string]any) { delete(at(o, "spec"), "replicas") }, false},
		"an owned field is null": {func(o map[string]any) { at(o, "spec")["replicas"] = nil }, false},
		"a field in a list item": {func(o map[string]any) { containers(o)[1].(map[string]any)["image"] = "x" }, false},
		"list items swapped":     {func(o map[string]any) { l := containers(o); l[0], l[1] = l[1], l[0] }, false},
		"a list item is gone":    {func(o map[string]any) { at(o, "spec", "template", "spec")["containers"] = containers(o)[:1] }, false},
		"a list became a map":    {func(o map[string]any) { at(o, "spec", "template", "spec")["containers"] = map[string]any{} }, false},
		"an owned label":         {func(o map[string]any) { at(o, "metadata", "labels")["app.kubernetes.io/name"] = "x" }, false},
		"less is owned":          {func(o map[string]any) { delete(at(entry(o), "fieldsV1", "f:spec"), "f:replicas") }, false},
		"ownership of the status": {func(o map[string]any) {
			addEntry(o, map[string]any{"manager": "tidegate", "operation": "Apply", "subresource": "status"})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := diff.NewDigester("tidegate")
			object := load(t, "deploy")
			before, err := d.Owned(object)
			require.NoError(t, err)
			c.change(object)
			after, err := d.Owned(object)
			require.NoError(t, err)
			require.Equal(t, c.same, before == after)
		})
	}
}

func addContainer(o, container map[string]any) {
	at(o, "spec", "template", "spec")["containers"] = append([]any{container}, containers(o)...)
}

func addEntry(o, e map[string]any) {
	metadata := at(o, "metadata")
	metadata["managedFields"] = append([]any{e}, metadata["managedFields"].([]any)...)
}

func TestOwnedTellsWhyThereIsNoDigest(t *testing.T) {
	d := diff.NewDigester("tidegate")
	object := load(t, "deploy")
	object["apiVersion"] = "apps/v2"
	_, err := d.Owned(object)
	require.ErrorIs(t, err, diff.ErrVersion)

	object = load(t, "deploy")
	at(object, "metadata")["managedFields"] = []any{}
	_, err = d.Owned(object)
	require.ErrorIs(t, err, diff.ErrNotOwned)
	_, err = d.Owned(map[string]any{})
	require.ErrorIs(t, err, diff.ErrNotOwned)

	for _, element := range []string{"spec", "x:y", "i:one", "k:{", "v:"} {
		object = load(t, "cm")
		at(entry(object), "fieldsV1")[element] = map[string]any{}
		_, err = d.Owned(object)
		require.ErrorContains(t, err, "field path", element)
	}
}

func TestListItemsAreFoundByKeyValueAndIndex(t *testing.T) {
	digest := func(fields, object string) diff.Sum {
		t.Helper()
		var o map[string]any
		require.NoError(t, utiljson.Unmarshal([]byte(object), &o))
		var f any
		require.NoError(t, json.Unmarshal([]byte(fields), &f))
		o["apiVersion"] = "v1"
		o["metadata"] = map[string]any{"managedFields": []any{map[string]any{"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsV1": f}}}
		sum, err := diff.NewDigester("m").Owned(o)
		require.NoError(t, err)
		return sum
	}
	ports := `{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{"f:name":{}}}}`
	require.Equal(t,
		digest(ports, `{"ports":[{"port":80,"name":"a"}]}`),
		digest(ports, `{"ports":[{"port":81,"name":"b"},{"port":80,"protocol":"TCP","name":"a"}]}`), "a key field that a schema defaults may be absent")
	require.NotEqual(t,
		digest(ports, `{"ports":[{"port":80,"protocol":"UDP","name":"a"}]}`),
		digest(ports, `{"ports":[{"port":80,"protocol":"TCP","name":"a"}]}`))
	set := `{"f:finalizers":{"v:\"a\"":{}}}`
	require.Equal(t, digest(set, `{"finalizers":["b","a"]}`), digest(set, `{"finalizers":["a"]}`))
	require.NotEqual(t, digest(set, `{"finalizers":["b"]}`), digest(set, `{"finalizers":["a"]}`))
	index := `{"f:list":{"i:1":{}}}`
	require.Equal(t, digest(index, `{"list":[1,2]}`), digest(index, `{"list":[3,2]}`))
	require.NotEqual(t, digest(index, `{"list":[1]}`), digest(index, `{"list":[1,2]}`))
	atomic := `{"f:args":{}}`
	require.NotEqual(t, digest(atomic, `{"args":["ab"]}`), digest(atomic, `{"args":["a","b"]}`))
	require.NotEqual(t, digest(atomic, `{"args":[1,23]}`), digest(atomic, `{"args":[12,3]}`))
	require.NotEqual(t, digest(atomic, `{"args":["1"]}`), digest(atomic, `{"args":[1]}`))
}

func FuzzOwned(f *testing.F) {
	for _, name := range []string{"cm", "deploy"} {
		data, err := os.ReadFile("testdata/" + name + ".json")
		require.NoError(f, err)
		f.Add(data)
	}
	d := diff.NewDigester("tidegate")
	f.Fuzz(func(t *testing.T, data []byte) {
		var object map[string]any
		if utiljson.Unmarshal(data, &object) != nil {
			return
		}
		first, err := d.Owned(object)
		second, again := d.Owned(object)
		require.Equal(t, first, second)
		require.Equal(t, err == nil, again == nil)
	})
}

func BenchmarkOwned(b *testing.B) {
	for _, name := range []string{"cm", "deploy"} {
		b.Run(name, func(b *testing.B) {
			object, d := load(b, name), diff.NewDigester("tidegate")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.Owned(object); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
