package diff

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

// Record is what an inventory remembers of one object. Before the object was
// first applied only Key and Wave are known.
type Record struct {
	Key        gitops.ObjectKey `json:"key"`
	APIVersion string           `json:"apiVersion,omitempty"`
	UID        string           `json:"uid,omitempty"`
	// ResourceVersion, Generation and Owned are as the server returned them when
	// the object was last applied, or seen to be unchanged.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Generation      int64  `json:"generation,omitempty"`
	Desired         string `json:"desired,omitempty"` // keyed digest of what was applied
	Owned           string `json:"owned,omitempty"`   // keyed digest of the fields that we own
	Wave            int    `json:"wave,omitempty"`
	// Applied is what was applied last, with a Secret's values masked; kept of objects
	// that are merged here, not by the server.
	Applied json.RawMessage `json:"applied,omitempty"`
	// Stale is why the object was Degraded before it was applied; of records that are
	// waited for, not of an inventory's.
	Stale string `json:"stale,omitempty"`
	// Hook is what the runs of one hook have in common (manifest.Object.HookID), and
	// Run which of them this is; both are empty for what is no hook.
	Hook string `json:"hook,omitempty"`
	Run  string `json:"run,omitempty"`
}

// Desired is one object of a bundle.
type Desired struct {
	Key    gitops.ObjectKey
	Digest string
	// Shared objects belong to no target, such as a destination namespace: they are
	// created or completed, and never refused, recorded or pruned. Labels and
	// Annotations are what they must have.
	Shared              bool
	Labels, Annotations map[string]string
	// Adopt is true, or the name of a target: from whom it may be taken over.
	Adopt string
}

// Live is what a region shows of one object.
type Live struct {
	UID             string
	ResourceVersion string
	Generation      int64
	Labels          map[string]string
	Annotations     map[string]string
	// Controller is the object that owns this one, as kind and name; empty for none.
	Controller string
	// Owned is the keyed digest of the fields that we own, when the whole object was
	// read; OwnedUnknown says that it was read and there is none.
	Owned        string
	OwnedUnknown bool
}

// Action is what has to be done about one object.
type Action string

// The actions.
const (
	Create    Action = "create"
	Change    Action = "change"
	Run       Action = "run" // a hook
	Unchanged Action = "unchanged"
	Look      Action = "look"   // its resourceVersion has moved: read it whole, then compare again
	Prune     Action = "prune"  // ours, and no longer wanted
	Keep      Action = "keep"   // ours, no longer wanted, and not to be deleted
	Forget    Action = "forget" // no longer wanted, and gone or another's
	Refuse    Action = "refuse" // wanted, but it exists and is not ours
)

// Verdict is what Compare says of one object.
type Verdict struct {
	Key    gitops.ObjectKey
	Action Action
	// Reason tells why, in words for people, where it is not plain.
	Reason string
	// Confirm says that a Prune waits for an approval, Last that it comes after all
	// others.
	Confirm, Last bool
	// Ignored says that a Keep does not make the target OutOfSync.
	Ignored bool
	// Adopted says that the object is taken over from somebody else.
	Adopted bool
}

// Comparison is what Compare compares.
type Comparison struct {
	Target  string
	Desired []Desired
	Records map[gitops.ObjectKey]Record
	// Live has the objects that exist, of those in Desired and Records.
	Live map[gitops.ObjectKey]Live
	// NoPrune says that the policy of the target forbids to prune.
	NoPrune bool
	// Delete says that the target itself goes: nothing is desired any more.
	Delete  bool
	Options manifest.Options // of the target
	// Adopt allows to take over what no target tracks; RenamedFrom what that target
	// tracks.
	Adopt       bool
	RenamedFrom string
	// Siblings are what other targets of the same release and region declare, by name.
	Siblings map[string]map[gitops.ObjectKey]bool
}

// Compare judges every desired object, in the given order, and after them every
// recorded object that is no longer desired, sorted.
func Compare(c Comparison) []Verdict {
	verdicts := make([]Verdict, 0, len(c.Desired))
	wanted := make(map[gitops.ObjectKey]bool, len(c.Desired))
	for _, d := range c.Desired {
		wanted[d.Key] = true
		verdicts = append(verdicts, c.judge(d))
	}
	var left []gitops.ObjectKey
	for key := range c.Records {
		if !wanted[key] {
			left = append(left, key)
		}
	}
	slices.SortFunc(left, gitops.ObjectKey.Compare)
	for _, key := range left {
		verdicts = append(verdicts, c.judgeLeft(key))
	}
	return verdicts
}

func (c Comparison) judge(d Desired) Verdict {
	live, exists := c.Live[d.Key]
	if exists && !d.Shared {
		if owner, ours := c.owner(d.Key, c.Records[d.Key], live); !ours {
			return c.judgeForeign(d, live, owner)
		}
	}
	action, reason := c.judgeOurs(d, live, exists)
	return Verdict{Key: d.Key, Action: action, Reason: reason}
}

func (c Comparison) judgeOurs(d Desired, live Live, exists bool) (Action, string) {
	record, recorded := c.Records[d.Key]
	switch {
	case !exists && recorded && record.UID != "":
		return Create, "it was deleted"
	case !exists:
		return Create, ""
	case d.Shared && contains(live.Labels, d.Labels) && contains(live.Annotations, d.Annotations):
		return Unchanged, ""
	case d.Shared:
		return Change, "it lacks labels or annotations"
	}
	switch {
	case !recorded || record.UID == "":
		return Change, "it is not in the inventory yet"
	case record.UID != live.UID:
		return Change, "it was made anew"
	case record.Desired != d.Digest:
		return Change, ""
	case record.ResourceVersion == live.ResourceVersion:
		return Unchanged, ""
	case live.OwnedUnknown:
		return Change, "its field ownership was cleared"
	case live.Owned == "":
		return Look, ""
	case live.Owned != record.Owned:
		return Change, "it has drifted"
	}
	return Unchanged, ""
}

// judgeLeft judges an object that the inventory has and the bundle has not.
func (c Comparison) judgeLeft(key gitops.ObjectKey) Verdict {
	live, exists := c.Live[key]
	owner, ours := c.owner(key, c.Records[key], live)
	options := manifest.LeftOver(live.Annotations, c.Options)
	verdict := func(action Action, reason string) Verdict {
		return Verdict{Key: key, Action: action, Reason: reason, Ignored: options.IgnoreExtraneous}
	}
	switch {
	case !exists:
		return verdict(Forget, "it is gone")
	case !ours && owner != "":
		return verdict(Forget, "it is tracked by target "+owner)
	case !ours:
		return verdict(Forget, "it is no longer managed by Tidegate")
	case c.Delete && options.Delete == manifest.RemovalNever:
		return verdict(Keep, "a sync option or annotation forbids to delete it")
	case c.Delete:
		return verdict(Prune, "")
	case c.NoPrune:
		return verdict(Keep, "prune is disabled")
	}
	for _, sibling := range slices.Sorted(maps.Keys(c.Siblings)) {
		if c.Siblings[sibling][key] {
			return verdict(Keep, "target "+sibling+" takes it over")
		}
	}
	if options.Prune == manifest.RemovalNever {
		return verdict(Keep, "a sync option or annotation forbids to prune it")
	}
	v := verdict(Prune, "")
	v.Last, v.Confirm = options.PruneLast, options.Prune == manifest.RemovalConfirmed
	return v
}

// owner says whether a live object is this target's, and else which target's it
// is. Ours is what carries our tracking id, even made anew; and what we made
// although somebody has taken the annotation off.
func (c Comparison) owner(key gitops.ObjectKey, record Record, live Live) (target string, ours bool) {
	annotation := live.Annotations[manifest.AnnotationTracking]
	target = manifest.TrackedBy(annotation, key)
	if target != "" {
		return target, target == c.Target
	}
	return "", record.UID != "" && record.UID == live.UID
}

func contains(all, some map[string]string) bool {
	for k, v := range some {
		if got, ok := all[k]; !ok || got != v {
			return false
		}
	}
	return true
}
