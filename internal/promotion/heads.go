package promotion

import (
	"slices"

	"github.com/tidegate/tidegate/internal/gitops"
)

// headMoved notes where a ref points now. A ref that the specification does not
// follow yet is noted too: the head may arrive before the specification does.
func (m *machine) headMoved(e Event) {
	if e.Ref == nil || e.Commit == "" {
		return
	}
	i := m.head(*e.Ref)
	if i < 0 {
		m.Heads = append(m.Heads, Head{Ref: *e.Ref, Seq: e.Seq, Commit: e.Commit})
		m.dropStrayHeads()
	} else {
		if e.Seq <= m.Heads[i].Seq {
			return
		}
		m.Heads[i].Seq = e.Seq
		m.clearCondition(RefMissing, e.Ref.String())
		if m.Heads[i].Commit == e.Commit {
			return
		}
		m.Heads[i].Commit = e.Commit
	}
	m.Render.Dirty = m.Render.Dirty || m.follows(*e.Ref)
}

// headMissing notes that a ref is gone. What it pointed at last stays delivered.
func (m *machine) headMissing(e Event) {
	if e.Ref == nil || !m.follows(*e.Ref) {
		return
	}
	if i := m.head(*e.Ref); i >= 0 {
		if e.Seq != 0 && e.Seq <= m.Heads[i].Seq {
			return
		}
		m.Heads[i].Seq = max(m.Heads[i].Seq, e.Seq)
	}
	m.setCondition(RefMissing, e.Ref.String(), e.Message)
}

func (m *machine) head(ref gitops.Ref) int {
	return slices.IndexFunc(m.Heads, func(h Head) bool { return h.Ref == ref })
}

func (m *machine) follows(ref gitops.Ref) bool { return slices.Contains(m.Spec.Refs(), ref) }

// dropStrayHeads forgets all but the newest heads of refs that the specification
// does not follow, and the conditions of those refs.
func (m *machine) dropStrayHeads() {
	stray := 0
	for i := len(m.Heads) - 1; i >= 0; i-- {
		if m.follows(m.Heads[i].Ref) {
			continue
		}
		if stray++; stray > maxStray {
			m.Heads = slices.Delete(m.Heads, i, i+1)
		}
	}
	m.Conditions = slices.DeleteFunc(m.Conditions, func(c Condition) bool {
		return c.Kind == RefMissing && !slices.ContainsFunc(m.Spec.Refs(), func(r gitops.Ref) bool { return r.String() == c.Subject })
	})
}

func (m *machine) setCondition(kind ConditionKind, subject, message string) {
	for i := range m.Conditions {
		if c := &m.Conditions[i]; c.Kind == kind && c.Subject == subject {
			c.Message = message
			return
		}
	}
	m.Conditions = append(m.Conditions, Condition{Kind: kind, Subject: subject, Message: message, Since: m.now})
}

func (m *machine) clearCondition(kind ConditionKind, subject string) {
	m.Conditions = slices.DeleteFunc(m.Conditions, func(c Condition) bool { return c.Kind == kind && c.Subject == subject })
}
