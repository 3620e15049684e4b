package promotion

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Quarantined is what a rollback has left behind: nothing that renders to the same is
// delivered any more, whatever commit it comes from.
type Quarantined struct {
	Release int       `json:"release"`
	Digest  string    `json:"digest"` // of what it renders to
	By      string    `json:"by"`
	Reason  string    `json:"reason,omitempty"`
	At      time.Time `json:"at"`
}

// maxQuarantined bounds how many are remembered.
const maxQuarantined = 20

// releaseDigest is the same for releases that render to the same.
func releaseDigest(r gitops.Release) string {
	lines := make([]string, 0, len(r.Bundles))
	for _, b := range r.Bundles {
		lines = append(lines, fmt.Sprintf("%q %q", b.Target, b.Digest))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

// quarantine returns why a release is not delivered; false when it may be.
func (s State) quarantine(release int) (Quarantined, bool) {
	if len(s.Quarantined) == 0 || release == 0 {
		return Quarantined{}, false
	}
	digest := ""
	if r, ok := s.Release(release); ok {
		digest = releaseDigest(r)
	}
	for _, q := range s.Quarantined {
		if q.Release == release || q.Digest == digest {
			return q, true
		}
	}
	return Quarantined{}, false
}

func (m *machine) isQuarantined(release int) bool {
	_, is := m.quarantine(release)
	return is
}

// RollbackTo is the release to which a rollback of a stage goes when nobody names one:
// the last that was healthy there before the one that was started last; 0 when there is
// none.
func (s State) RollbackTo(stage string) int {
	m := machine{State: s}
	i := m.stage(stage)
	if i < 0 {
		return 0
	}
	st := s.Stages[i]
	if st.Current != st.LastStarted && m.mayReturn(i, st.Current) == nil {
		return st.Current
	}
	for _, r := range slices.Backward(s.Rollouts) {
		if r.Stage == stage && m.mayReturn(i, r.Release) == nil {
			return r.Release
		}
	}
	return 0
}

// CheckRollback says why a stage cannot go back to a release; nil when it can.
func (s State) CheckRollback(stage string, release int) error {
	m := machine{State: s}
	i := m.stage(stage)
	if i < 0 || s.Stages[i].Retired {
		return fmt.Errorf("there is no stage %q", stage)
	}
	if release == 0 {
		return fmt.Errorf("there is no release before this one in %s to go back to, as far as is remembered", stage)
	}
	return m.mayReturn(i, release)
}

// mayReturn says why a stage cannot go back to a release: it must have been healthy
// there, still be remembered, and be made for the places where the targets are.
func (m *machine) mayReturn(i, release int) error {
	st := m.Stages[i]
	r, known := m.Release(release)
	healthy := func(r Rollout) bool {
		return r.Stage == st.Name && r.Release == release && r.Phase == gitops.PhaseHealthy && !r.CatchUp
	}
	switch {
	case !known:
		return fmt.Errorf("release %d is not remembered any more", release)
	case release == st.LastStarted:
		return fmt.Errorf("release %d is what was started in %s last", release, st.Name)
	case m.isSame(release, st.LastStarted):
		return fmt.Errorf("release %d is the same as release %d, which was started in %s last", release, st.LastStarted, st.Name)
	case release != st.Current && !slices.ContainsFunc(m.Rollouts, healthy):
		return fmt.Errorf("release %d has not been healthy in %s, as far as is remembered", release, st.Name)
	case release < m.Floor:
		return fmt.Errorf("release %d was made for targets that have moved since", release)
	}
	for _, name := range m.declared(st.Name).Targets {
		if _, made := r.Bundle(name); made {
			return nil
		}
	}
	return fmt.Errorf("release %d has nothing for a target of %s", release, st.Name)
}

// mayFollow says whether a release may be laid over what a target runs: nothing older,
// unless that is quarantined, or the same.
func (m *machine) mayFollow(runs, release int) bool {
	return runs <= release || m.isQuarantined(runs) || m.isSame(runs, release)
}

// isSame says whether two releases render to the same.
func (m *machine) isSame(a, b int) bool {
	one, known := m.Release(a)
	other, knownToo := m.Release(b)
	return known && knownToo && releaseDigest(one) == releaseDigest(other)
}

// rollbackRequested takes a stage back to a release.
func (m *machine) rollbackRequested(e Event) {
	i := m.stage(e.Stage)
	if i < 0 || m.Stages[i].Retired || m.mayReturn(i, e.Release) != nil {
		return
	}
	m.rollBack(i, e.Release, Quarantined{By: e.By, Reason: e.Message})
}

// rollBack quarantines what a stage runs, everywhere, and has the stage go back to a
// release that was healthy there, past its gates. What was quarantined is let out again by
// going back to it.
func (m *machine) rollBack(i, release int, q Quarantined) {
	st := &m.Stages[i]
	target, _ := m.Release(release)
	m.Quarantined = slices.DeleteFunc(m.Quarantined, func(q Quarantined) bool {
		return q.Release == release || q.Digest == releaseDigest(target)
	})
	for _, number := range m.newerHere(i, release) {
		bad, _ := m.Release(number)
		if digest := releaseDigest(bad); !m.isQuarantined(number) && digest != releaseDigest(target) {
			q.Release, q.Digest, q.At = number, digest, m.now
			m.Quarantined = append(m.Quarantined, q)
		}
	}
	if over := len(m.Quarantined) - maxQuarantined; over > 0 {
		m.Quarantined = slices.Delete(m.Quarantined, 0, over)
	}
	st.Next, st.Back, st.Failed, m.kept = release, true, 0, true
	m.closeQuarantined()
	if r := st.Running; r != nil && !r.Stopping {
		m.stop(r, release, fmt.Sprintf("the stage goes back to release %d", release))
	}
}

// newerHere are the releases that a stage, or a target of it, has and that are newer than
// the one to go back to.
func (m *machine) newerHere(i, release int) []int {
	here := []int{m.Stages[i].LastStarted}
	for _, name := range m.declared(m.Stages[i].Name).Targets {
		if t := m.target(name); t != nil {
			here = append(here, t.Release)
		}
	}
	here = slices.DeleteFunc(here, func(number int) bool { return number <= release })
	slices.Sort(here)
	return slices.Compact(here)
}

// closeQuarantined ends the candidates that may not enter any more.
func (m *machine) closeQuarantined() {
	for i := range m.Stages {
		st := &m.Stages[i]
		for j := range st.Waiting {
			if q, is := m.quarantine(st.Waiting[j].Release); is {
				m.closeCandidate(&st.Waiting[j], q.String())
			}
		}
		if m.isQuarantined(st.Next) {
			st.Next, st.Back = 0, false
		}
	}
}

// String says for people why a release is not delivered.
func (q Quarantined) String() string {
	text := fmt.Sprintf("release %d was rolled back by %s", q.Release, q.By)
	if q.Reason != "" {
		text += ": " + q.Reason
	}
	return text
}

// rollBackFailed goes back by itself where a stage's strategy says so: to the release
// that was healthy there before.
func (m *machine) rollBackFailed(i int, r Rollout) {
	st := &m.Stages[i]
	strategy := m.declared(st.Name).Strategy
	if strategy == nil || strategy.OnFailure != gitops.RollBack || r.Back || r.Release != st.LastStarted || m.mayReturn(i, st.Current) != nil {
		return
	}
	m.rollBack(i, st.Current, Quarantined{By: "the strategy of stage " + st.Name, Reason: r.Message})
}

// wanted is the newest release that a stage was offered and may have.
func (m *machine) wanted(i int) int {
	st := m.Stages[i]
	if m.isQuarantined(st.Offered) {
		return st.LastStarted
	}
	return max(st.Offered, st.LastStarted)
}
