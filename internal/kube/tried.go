package kube

import (
	"encoding/json"
	"time"

	"k8s.io/utils/lru"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
)

// tried remembers what dry-runs of changes have shown: while neither what is wanted nor
// the live object changes, a plan that is made anew, as after an approval, asks again
// only for what it does not know. What a region refuses is not remembered.
type tried struct{ known *lru.Cache }

// maxTried is how many changes are remembered of a region, triedFor how long: policies
// of the region may change in between.
const (
	maxTried = 20_000
	triedFor = 10 * time.Minute
)

// question identifies a dry-run: its answer is the same while these are.
type question struct {
	target               string
	key                  gitops.ObjectKey
	desired              string // digest
	uid, resourceVersion string
	manner               Manner
	adopted              bool
	ignore               string
}

type answered struct {
	fields []gitops.FieldChange
	at     time.Time
}

// questionOf is the question about an object of a plan; false for those that are not
// remembered.
func (v *view) questionOf(plan *Plan, o PlannedObject) (question, bool) {
	live, exists := v.live[o.Key]
	if o.Action != diff.Change || !exists {
		return question{}, false
	}
	ignore, err := json.Marshal(plan.Ignore)
	return question{
		target: plan.Target, key: o.Key, desired: o.Digest, uid: live.UID, resourceVersion: live.ResourceVersion,
		manner: o.Manner, adopted: o.Adopted, ignore: string(ignore),
	}, err == nil
}

// recall fills in what is known of a change, and says whether that is so.
func (t tried) recall(q question, o *PlannedObject) bool {
	known, ok := t.known.Get(q)
	if !ok {
		return false
	}
	a, ok := known.(answered)
	if !ok || time.Since(a.at) > triedFor {
		return false
	}
	o.Fields = a.fields
	return true
}

func (t tried) remember(q question, o PlannedObject) {
	t.known.Add(q, answered{fields: o.Fields, at: time.Now()})
}
