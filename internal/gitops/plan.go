package gitops

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// StepPhase is the part of a sync that a step belongs to, in Argo CD's words.
type StepPhase string

// The phases of a sync, in order; SyncFail is entered when one of them fails, the
// last two belong to the deletion of a target.
const (
	PreSync    StepPhase = "PreSync"
	Sync       StepPhase = "Sync"
	Prune      StepPhase = "Prune"
	PostSync   StepPhase = "PostSync"
	SyncFail   StepPhase = "SyncFail"
	PreDelete  StepPhase = "PreDelete"
	PostDelete StepPhase = "PostDelete"
)

var phaseRank = map[StepPhase]int{PreSync: 0, Sync: 1, Prune: 2, PostSync: 3, SyncFail: 4, PreDelete: 5, PostDelete: 6}

// Rank is the phase's place in the order of phases.
func (p StepPhase) Rank() int { return phaseRank[p] }

// PlanSummary is what a workflow knows of a target's plan; the plan itself is
// an artifact.
type PlanSummary struct {
	Target string `json:"target"`
	Region string `json:"region"`
	// Digest covers the desired objects, the prune set and the policy, not the
	// live state: what an approval is bound to.
	Digest    string `json:"digest"`
	Artifact  string `json:"artifact"`
	Apply     int    `json:"apply"` // objects to create or change
	Prune     int    `json:"prune"`
	Hooks     int    `json:"hooks,omitempty"` // hooks to run
	Unchanged int    `json:"unchanged"`
	// Selected is how many objects the scope of the sync selects; of all when it selects
	// none in particular.
	Selected int `json:"selected,omitempty"`
	// Kept are objects that are no longer declared and stay, since pruning is not
	// allowed: the target is OutOfSync while there are any.
	Kept  int    `json:"kept,omitempty"`
	Steps []Step `json:"steps"`
	// Tried says that the region was asked first, and would take all that is written.
	Tried bool `json:"tried,omitempty"`
	// Changes is a digest of what changes: the same in regions where the same does.
	Changes string `json:"changes,omitempty"`
	// Sample names the first objects that change, for people.
	Sample []string `json:"sample,omitempty"`
	// PruneNeedsApproval says why the prune step is above the deletion budget;
	// empty when it is not.
	PruneNeedsApproval string `json:"pruneNeedsApproval,omitempty"`
	// Unreachable says why the region could not be planned; everything else is
	// empty then.
	Unreachable string `json:"unreachable,omitempty"`
}

// Empty says whether nothing would be written.
func (p PlanSummary) Empty() bool { return p.Apply == 0 && p.Prune == 0 && p.Hooks == 0 }

// Step is one wave of a plan.
type Step struct {
	Phase StepPhase `json:"phase"`
	Wave  int       `json:"wave"`
	Apply int       `json:"apply"`           // objects to write or delete in this step
	Wait  int       `json:"wait"`            // objects whose health is waited for
	Hooks int       `json:"hooks,omitempty"` // hooks among them
	// Deadline is the longest that an object asks for, in seconds.
	Deadline int `json:"deadline,omitempty"`
}

// PlanDigest is the digest that an approval of all these plans names. It is
// short enough to be read aloud and typed; the digests that it covers are not.
func PlanDigest(plans []PlanSummary) string {
	sorted := slices.SortedFunc(slices.Values(plans), func(a, b PlanSummary) int { return strings.Compare(a.Target, b.Target) })
	var text strings.Builder
	for _, p := range sorted {
		digest := p.Digest
		if p.Unreachable != "" {
			digest = "unreachable"
		}
		text.WriteString(strconv.Quote(p.Target) + " " + strconv.Quote(digest) + "\n")
	}
	sum := sha256.Sum256([]byte(text.String()))
	return hex.EncodeToString(sum[:8])
}

// FieldChange is one field of an object that is to change: from what it is live to
// what it is wanted to be, both as JSON; empty where there is nothing.
type FieldChange struct {
	Path string `json:"path"` // .spec.template.spec.containers[name=web].image
	Live string `json:"live,omitempty"`
	Want string `json:"want,omitempty"`
}

// String is the form for people.
func (c FieldChange) String() string {
	switch {
	case c.Live == "":
		return c.Path + ": added: " + c.Want
	case c.Want == "":
		return c.Path + ": removed: " + c.Live
	case c.Live == c.Want:
		return c.Path + ": changed"
	default:
		return c.Path + ": " + c.Live + " -> " + c.Want
	}
}
