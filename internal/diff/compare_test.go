package diff_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

var key = gitops.ObjectKey{Kind: "ConfigMap", Namespace: "shop", Name: "a"}

const otherTarget, keep = "other", "argocd.argoproj.io/sync-options"

// ours is a live object that carries this target's tracking id.
func ours(live diff.Live) *diff.Live {
	live.Annotations = map[string]string{manifest.AnnotationTracking: manifest.TrackingID("shop", key), keep: live.Annotations[keep]}
	return &live
}

func theirs(live diff.Live) *diff.Live {
	live.Annotations = map[string]string{manifest.AnnotationTracking: manifest.TrackingID(otherTarget, key)}
	return &live
}

func TestCompare(t *testing.T) {
	applied := &diff.Record{Key: key, UID: "1", ResourceVersion: "10", Desired: "d", Owned: "o"}
	noted := &diff.Record{Key: key}
	for name, c := range map[string]struct {
		unwanted bool
		noPrune  bool
		record   *diff.Record
		live     *diff.Live
		want     diff.Action
		reason   string
	}{
		"new":                               {want: diff.Create},
		"noted by a rollout that was cut":   {record: noted, want: diff.Create},
		"deleted by somebody":               {record: applied, want: diff.Create, reason: "it was deleted"},
		"as it was":                         {record: applied, live: ours(diff.Live{UID: "1", ResourceVersion: "10"}), want: diff.Unchanged},
		"moved, not read":                   {record: applied, live: ours(diff.Live{UID: "1", ResourceVersion: "11"}), want: diff.Look},
		"moved, ours is the same":           {record: applied, live: ours(diff.Live{UID: "1", ResourceVersion: "11", Owned: "o"}), want: diff.Unchanged},
		"drifted":                           {record: applied, live: ours(diff.Live{UID: "1", ResourceVersion: "11", Owned: "x"}), want: diff.Change, reason: "it has drifted"},
		"ownership cleared":                 {record: applied, live: ours(diff.Live{UID: "1", ResourceVersion: "11", OwnedUnknown: true}), want: diff.Change, reason: "its field ownership was cleared"},
		"Git has changed":                   {record: &diff.Record{Key: key, UID: "1", ResourceVersion: "10", Desired: "before"}, live: ours(diff.Live{UID: "1", ResourceVersion: "10"}), want: diff.Change},
		"made anew, with our id":            {record: applied, live: ours(diff.Live{UID: "2"}), want: diff.Change, reason: "it was made anew"},
		"made anew by somebody":             {record: applied, live: &diff.Live{UID: "2"}, want: diff.Refuse, reason: "it exists and is not managed by Tidegate; adoption is not supported yet: delete it, or name it differently"},
		"our id was taken off":              {record: applied, live: &diff.Live{UID: "1", ResourceVersion: "11", Owned: "x"}, want: diff.Change, reason: "it has drifted"},
		"applied, the inventory was lost":   {live: ours(diff.Live{UID: "1"}), want: diff.Change, reason: "it is not in the inventory yet"},
		"applied, then the worker died":     {record: noted, live: ours(diff.Live{UID: "1"}), want: diff.Change, reason: "it is not in the inventory yet"},
		"foreign":                           {live: &diff.Live{UID: "1"}, want: diff.Refuse, reason: "it exists and is not managed by Tidegate; adoption is not supported yet: delete it, or name it differently"},
		"foreign, noted by a cut rollout":   {record: noted, live: &diff.Live{UID: "1"}, want: diff.Refuse, reason: "it exists and is not managed by Tidegate; adoption is not supported yet: delete it, or name it differently"},
		"another target's":                  {live: theirs(diff.Live{UID: "1"}), want: diff.Refuse, reason: "it is tracked by target other"},
		"given to another target":           {record: applied, live: theirs(diff.Live{UID: "1"}), want: diff.Refuse, reason: "it is tracked by target other"},
		"unwanted":                          {unwanted: true, record: applied, live: ours(diff.Live{UID: "1"}), want: diff.Prune},
		"unwanted, made anew with our id":   {unwanted: true, record: applied, live: ours(diff.Live{UID: "2"}), want: diff.Prune},
		"unwanted, gone":                    {unwanted: true, record: applied, want: diff.Forget, reason: "it is gone"},
		"unwanted, made anew by somebody":   {unwanted: true, record: applied, live: &diff.Live{UID: "2"}, want: diff.Forget, reason: "it is no longer managed by Tidegate"},
		"unwanted, never made, and foreign": {unwanted: true, record: noted, live: &diff.Live{UID: "2"}, want: diff.Forget, reason: "it is no longer managed by Tidegate"},
		"unwanted, given to another target": {unwanted: true, record: applied, live: theirs(diff.Live{UID: "1"}), want: diff.Forget, reason: "it is tracked by target other"},
		"unwanted, prune is off":            {unwanted: true, noPrune: true, record: applied, live: ours(diff.Live{UID: "1"}), want: diff.Keep, reason: "prune is disabled"},
		"unwanted, kept by its annotation":  {unwanted: true, record: applied, live: ours(diff.Live{UID: "1", Annotations: map[string]string{keep: "Prune=false"}}), want: diff.Keep, reason: "a sync option or annotation forbids to prune it"},
	} {
		t.Run(name, func(t *testing.T) {
			in := diff.Comparison{Target: "shop", NoPrune: c.noPrune, Records: map[gitops.ObjectKey]diff.Record{}, Live: map[gitops.ObjectKey]diff.Live{}}
			if !c.unwanted {
				in.Desired = []diff.Desired{{Key: key, Digest: "d"}}
			}
			if c.record != nil {
				in.Records[key] = *c.record
			}
			if c.live != nil {
				in.Live[key] = *c.live
			}
			require.Equal(t, []diff.Verdict{{Key: key, Action: c.want, Reason: c.reason}}, diff.Compare(in))
		})
	}
}

func TestSharedObjectsAreCompletedAndNeverRefused(t *testing.T) {
	ns := gitops.ObjectKey{Kind: "Namespace", Name: "shop"}
	judge := func(labels map[string]string, live ...diff.Live) diff.Action {
		in := diff.Comparison{Target: "shop", Desired: []diff.Desired{{Key: ns, Shared: true, Labels: labels}}, Live: map[gitops.ObjectKey]diff.Live{}}
		for _, l := range live {
			in.Live[ns] = l
		}
		return diff.Compare(in)[0].Action
	}
	level := map[string]string{"level": "baseline"}
	require.Equal(t, diff.Create, judge(level))
	require.Equal(t, diff.Unchanged, judge(nil, diff.Live{UID: "1"}))
	require.Equal(t, diff.Change, judge(level, diff.Live{UID: "1"}))
	require.Equal(t, diff.Unchanged, judge(level, diff.Live{UID: "1", Labels: map[string]string{"level": "baseline", "more": "x"}}))
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
