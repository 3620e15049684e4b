package diff_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// comparison is a case: what a target called shop wants, remembers and sees.
type comparison struct {
	NoPrune     bool
	Delete      bool
	Options     []string
	Adopt       bool
	RenamedFrom string
	Siblings    map[string][]string
	Objects     []struct {
		Key     string
		Desired *diff.Desired
		Record  *diff.Record
		Live    *struct {
			diff.Live
			Tracked, Argo string // who tracks it
		}
	}
}

// The golden file has a verdict a line.
func TestCompare(t *testing.T) {
	golden(t, "compare", func(t *testing.T, text []byte) string {
		var b strings.Builder
		for _, v := range diff.Compare(readComparison(t, text)) {
			fmt.Fprintf(&b, "%s %s", v.Action, v.Key)
			for _, mark := range []struct {
				is   bool
				text string
			}{{v.Adopted, ", adopted"}, {v.Confirm, ", to be approved"}, {v.Last, ", after all others"}, {v.Ignored && v.Action == diff.Keep, ", does not count"}} {
				if mark.is {
					b.WriteString(mark.text)
				}
			}
			if v.Reason != "" {
				b.WriteString(": " + v.Reason)
			}
			b.WriteString("\n")
		}
		return b.String()
	})
}

func readComparison(t *testing.T, text []byte) diff.Comparison {
	t.Helper()
	var c comparison
	require.NoError(t, yaml.UnmarshalStrict(text, &c))
	in := diff.Comparison{
		Target: "shop", NoPrune: c.NoPrune, Delete: c.Delete, Adopt: c.Adopt, RenamedFrom: c.RenamedFrom,
		Records: map[gitops.ObjectKey]diff.Record{}, Live: map[gitops.ObjectKey]diff.Live{}, Siblings: map[string]map[gitops.ObjectKey]bool{},
	}
	var err error
	in.Options, err = manifest.TargetOptions(c.Options)
	require.NoError(t, err)
	for name, keys := range c.Siblings {
		in.Siblings[name] = map[gitops.ObjectKey]bool{}
		for _, key := range keys {
			in.Siblings[name][readKey(key)] = true
		}
	}
	for _, o := range c.Objects {
		key := readKey(o.Key)
		if o.Desired != nil {
			o.Desired.Key = key
			in.Desired = append(in.Desired, *o.Desired)
		}
		if o.Record != nil {
			o.Record.Key = key
			in.Records[key] = *o.Record
		}
		if o.Live != nil {
			live := o.Live.Live
			if live.Annotations == nil {
				live.Annotations = map[string]string{}
			}
			for annotation, owner := range map[string]string{manifest.AnnotationTracking: o.Live.Tracked, "argocd.argoproj.io/tracking-id": o.Live.Argo} {
				if owner != "" {
					live.Annotations[annotation] = manifest.TrackingID(owner, key)
				}
			}
			in.Live[key] = live
		}
	}
	return in
}

// readKey reads a key in its form for people.
func readKey(text string) (key gitops.ObjectKey) {
	kind, name, _ := strings.Cut(text, " ")
	if group, rest, ok := strings.Cut(kind, "/"); ok {
		key.Group, kind = group, rest
	}
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		key.Namespace, name = namespace, rest
	}
	key.Kind, key.Name = kind, name
	return key
}

func TestPruneNeedsApproval(t *testing.T) {
	keys := func(kind string, n int) []gitops.ObjectKey {
		out := make([]gitops.ObjectKey, n)
		for i := range out {
			out[i] = gitops.ObjectKey{Kind: kind, Name: string(rune('a' + i))}
		}
		return out
	}
	for name, c := range map[string]struct {
		prune   []gitops.ObjectKey
		objects int
		want    string
	}{
		"nothing":             {nil, 10, ""},
		"one of few":          {keys("ConfigMap", 1), 2, ""},
		"a fifth":             {keys("ConfigMap", 2), 10, ""},
		"more than a fifth":   {keys("ConfigMap", 3), 10, "it deletes 3 of 10 objects"},
		"the only one":        {keys("ConfigMap", 1), 1, "it deletes all 1 objects of the target"},
		"everything":          {keys("ConfigMap", 4), 4, "it deletes all 4 objects of the target"},
		"a namespace":         {keys("Namespace", 1), 100, "it deletes Namespace a"},
		"a volume claim":      {keys("PersistentVolumeClaim", 1), 100, "it deletes PersistentVolumeClaim a"},
		"a definition":        {[]gitops.ObjectKey{{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "x"}}, 100, "it deletes apiextensions.k8s.io/CustomResourceDefinition x"},
		"another's same kind": {[]gitops.ObjectKey{{Group: "example.com", Kind: "Namespace", Name: "x"}}, 100, ""},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, diff.PruneNeedsApproval(c.prune, c.objects)) })
	}
}
