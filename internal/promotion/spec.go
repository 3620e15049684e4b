package promotion

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/tidegate/tidegate/internal/gitops"
)

// specChanged takes a new specification over. Whatever stage or target is gone
// leaves nothing behind but rollouts that are still open; whatever is new waits
// for the release that the next render makes.
func (m *machine) specChanged(e Event) {
	if e.Spec == nil || (e.Spec.Digest != "" && e.Spec.Digest == m.Spec.Digest) {
		return
	}
	m.Retired = false
	m.depart(*e.Spec)
	m.adopt(*e.Spec)
	m.Render.Dirty = true
	for i := range m.Stages {
		m.regate(i)
	}
}

func (m *machine) adopt(spec gitops.Delivery) {
	m.Spec = cloneSpec(spec)
	m.adoptStages()
	m.adoptTargets()
	m.dropStrayHeads()
}

// adoptStages brings the stages into the specification's order, and keeps those
// that it no longer has as retired ones.
func (m *machine) adoptStages() {
	var stages []StageState
	for _, declared := range m.Spec.Stages {
		st := StageState{Name: declared.Name}
		if i := m.stage(declared.Name); i >= 0 {
			st = m.Stages[i]
			st.Retired = false
		}
		if !slices.ContainsFunc(stages, func(s StageState) bool { return s.Name == st.Name }) {
			stages = append(stages, st)
		}
	}
	for _, st := range m.Stages {
		if !slices.ContainsFunc(stages, func(s StageState) bool { return s.Name == st.Name }) {
			st.Retired, st.Next = true, 0
			stages = append(stages, st)
		}
	}
	m.Stages = stages
}

// adoptTargets keeps what is known of the targets that are still where they
// were. One that has moved to another region or namespace starts anew, and no
// older release may start any more: it was made for the old place.
func (m *machine) adoptTargets() {
	var targets []TargetState
	for _, declared := range m.Spec.Targets {
		t := TargetState{
			Name: declared.Name, Region: declared.Region, Namespace: declared.Namespace,
			Sync: gitops.SyncUnknown, Health: gitops.HealthUnknown, Since: m.now,
		}
		old := m.target(declared.Name)
		if old == nil {
			m.Render.Released = "" // the next render is a release, even of nothing new
		} else {
			if old.Region == t.Region && old.Namespace == t.Namespace {
				t = *old
			} else {
				m.Floor, m.Render.Stale = m.NextRelease, m.Render.Running
			}
		}
		t.Stage = ""
		for _, st := range m.Spec.Stages {
			if slices.Contains(st.Targets, t.Name) {
				t.Stage = st.Name
				break
			}
		}
		targets = append(targets, t)
	}
	slices.SortStableFunc(targets, func(a, b TargetState) int { return cmp.Compare(a.Name, b.Name) })
	m.Targets = slices.CompactFunc(targets, func(a, b TargetState) bool { return a.Name == b.Name })
}

// dropRetired forgets retired stages once none of their rollouts is open.
func (m *machine) dropRetired() {
	m.Stages = slices.DeleteFunc(m.Stages, func(st StageState) bool {
		return st.Retired && st.Running == nil && len(st.Waiting) == 0
	})
}

// targetsDigest covers what a release is made for: every target as declared, but
// for who starts its deliveries.
func targetsDigest(targets []gitops.Target) string {
	made := slices.Clone(targets)
	for i := range made {
		made[i].SyncPolicy.Automated, made[i].SyncPolicy.SelfHeal = false, false
	}
	text, err := json.Marshal(made)
	if err != nil {
		return "" // strings, booleans and maps of strings always marshal
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// cloneSpec copies the lists of a specification, which belongs to whoever sent
// it.
func cloneSpec(spec gitops.Delivery) gitops.Delivery {
	spec.Targets = slices.Clone(spec.Targets)
	spec.Stages = slices.Clone(spec.Stages)
	for i := range spec.Stages {
		st := &spec.Stages[i]
		st.Targets, st.Gates = slices.Sorted(slices.Values(st.Targets)), slices.Clone(st.Gates)
	}
	return spec
}
