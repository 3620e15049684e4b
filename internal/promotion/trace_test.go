package promotion_test

import (
	"fmt"
	"strings"

	"github.com/tidegate/tidegate/internal/promotion"
)

// eventLine is an event on one line, for traces; it is spelled out only when a
// trace is printed.
type eventLine promotion.Event

func (e eventLine) String() string {
	var b strings.Builder
	b.WriteString(string(e.Kind))
	if e.Ref != nil {
		fmt.Fprintf(&b, " %s #%d %s", e.Ref, e.Seq, e.Commit)
	}
	if e.Spec != nil {
		b.WriteString(" " + e.Spec.Digest)
	}
	if e.Render != 0 {
		fmt.Fprintf(&b, " render %d", e.Render)
	}
	if e.Rollout != 0 {
		fmt.Fprintf(&b, " rollout %d in %s: %s #%d", e.Rollout, e.Stage, e.Phase, e.Seq)
	}
	for _, o := range e.Targets {
		fmt.Fprintf(&b, " %s=%s", o.Name, o.Phase)
	}
	for _, word := range []string{e.Region, e.By, e.Message} {
		if word != "" {
			b.WriteString(" " + word)
		}
	}
	return b.String()
}

// commandLine is a command on one line.
type commandLine promotion.Command

func (c commandLine) String() string {
	var b strings.Builder
	b.WriteString(string(c.Kind))
	switch c.Kind {
	case promotion.Render:
		fmt.Fprintf(&b, " %d at", c.Render)
		for _, s := range c.Sources {
			b.WriteString(" " + s.Commit)
		}
	case promotion.Probe:
		b.WriteString(" " + c.Region)
	case promotion.Checkpoint:
	default:
		fmt.Fprintf(&b, " rollout %d release %d %s", c.Rollout, c.Release, c.Stage)
		if c.Delete {
			b.WriteString(" deletes")
		}
	}
	if len(c.Targets) > 0 {
		fmt.Fprintf(&b, " [%s]", strings.Join(c.Targets, " "))
	}
	for _, g := range c.Gates {
		b.WriteString(" gate " + g.Name)
	}
	if c.Granted {
		b.WriteString(" granted")
	}
	if c.CatchUp {
		b.WriteString(" catch-up")
	}
	if c.Back {
		b.WriteString(" rollback")
	}
	for _, word := range []string{c.Gate, c.PlanDigest, c.By} {
		if word != "" {
			b.WriteString(" " + word)
		}
	}
	if c.Reason != "" {
		b.WriteString(": " + c.Reason)
	}
	return b.String()
}
