package promotion

import (
	"slices"

	"github.com/tidegate/tidegate/internal/gitops"
)

// render asks for a render when something has moved since the last one was
// given, one at a time, and only once every ref's head is known. While one is
// under way movements only mark it dirty: the next takes the newest of all, and
// the one under way still becomes a release, so that merges which come faster
// than renders never keep a release from being made.
func (m *machine) render() {
	r := &m.Render
	if !r.Dirty || r.Running || len(m.Spec.Targets) == 0 {
		return
	}
	var sources []gitops.ResolvedSource
	for _, ref := range m.Spec.Refs() {
		i := m.head(ref)
		if i < 0 {
			return
		}
		sources = append(sources, gitops.ResolvedSource{Ref: ref, Commit: m.Heads[i].Commit})
	}
	r.Number++
	r.Running, r.Dirty = true, false
	r.Spec, r.Targets, r.Sources = m.Spec.Digest, targetsDigest(m.Spec.Targets), sources
	m.command(renderCommand(*r))
}

func renderCommand(r RenderState) Command {
	return Command{Kind: Render, Render: r.Number, Spec: r.Spec, Sources: r.Sources}
}

// rendered makes a release of a render, unless it came out equal.
func (m *machine) rendered(e Event) {
	r := &m.Render
	if !r.Running || e.Render != r.Number {
		return
	}
	stale := r.Stale
	r.Running, r.Stale, r.Error = false, false, ""
	m.clearCondition(RenderBroken, "")
	sources := slices.Clone(e.Sources)
	if len(sources) == 0 {
		sources = r.Sources
	}
	release := gitops.Release{
		Number: m.NextRelease, Spec: r.Spec, Sources: sources, Bundles: slices.Clone(e.Bundles), Created: m.now,
	}
	m.kept = true
	if n := len(m.Releases); n > 0 && r.Released == r.Targets && m.Newest() >= m.Floor && equalBundles(m.Releases[n-1], release) {
		m.noteRevision(&m.Releases[n-1], release.Revision())
		return
	}
	if stale {
		return // the next render is for the place where the target is now
	}
	m.NextRelease++
	m.Releases = append(m.Releases, release)
	r.Released = r.Targets
}

// renderFailed keeps what was delivered and says why there is nothing newer.
func (m *machine) renderFailed(e Event) {
	if !m.Render.Running || e.Render != m.Render.Number {
		return
	}
	m.Render.Running, m.Render.Stale, m.Render.Error = false, false, e.Message
	m.setCondition(RenderBroken, "", e.Message)
}

// noteRevision says on a release that a newer revision renders to the same.
func (m *machine) noteRevision(r *gitops.Release, revision string) {
	if revision == "" || revision == r.Revision() {
		return
	}
	r.Revisions = append(r.Revisions, revision)
	if over := len(r.Revisions) - maxRevisions; over > 0 {
		r.Revisions = slices.Delete(r.Revisions, 0, over)
	}
}

func equalBundles(a, b gitops.Release) bool {
	if len(a.Bundles) != len(b.Bundles) {
		return false
	}
	for _, bundle := range a.Bundles {
		if other, ok := b.Bundle(bundle.Target); !ok || other.Digest != bundle.Digest {
			return false
		}
	}
	return true
}

// trim bounds what is remembered: the newest releases, those in use, and the
// newest of the rollouts that have ended.
func (m *machine) trim() {
	if over := len(m.Rollouts) - maxRollouts; over > 0 {
		m.Rollouts = slices.Delete(m.Rollouts, 0, over)
	}
	unused := 0
	for i := len(m.Releases) - 1; i >= 0; i-- {
		if m.inUse(m.Releases[i].Number) {
			continue
		}
		if unused++; unused > maxReleases {
			m.Releases = slices.Delete(m.Releases, i, i+1)
		}
	}
}

func (m *machine) inUse(release int) bool {
	for _, st := range m.Stages {
		if slices.Contains([]int{st.Current, st.LastStarted, st.Offered, st.Passed, st.Failed, st.Next}, release) {
			return true
		}
		if st.Running != nil && st.Running.Release == release {
			return true
		}
		if slices.ContainsFunc(st.Waiting, func(r Rollout) bool { return r.Release == release }) {
			return true
		}
	}
	return slices.ContainsFunc(m.Targets, func(t TargetState) bool { return t.Release == release })
}
