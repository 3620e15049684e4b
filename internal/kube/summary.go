package kube

import (
	"fmt"
	"strings"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
)

// maxSample is how many changes a summary names.
const maxSample = 10

// Summary is what a workflow has to know of the plan that is kept as an artifact.
func (p Plan) Summary(artifact string) gitops.PlanSummary {
	s := gitops.PlanSummary{
		Target: p.Target, Region: p.Region, Digest: p.Digest, Artifact: artifact,
		Unchanged: p.Unchanged, Kept: len(p.Kept), PruneNeedsApproval: p.PruneNeedsApproval,
		Tried: p.Tried, Changes: p.Changes, Selected: p.Selected,
	}
	for _, step := range p.Steps {
		applies := step.Applies()
		hooks := step.count(func(o PlannedObject) bool { return o.Hook != nil })
		s.Steps = append(s.Steps, gitops.Step{Phase: step.Phase, Wave: step.Wave, Apply: applies, Wait: step.Waits(), Hooks: hooks, Deadline: step.deadline()})
		s.Hooks += hooks
		if step.Phase == gitops.Prune {
			s.Prune += applies
		} else {
			s.Apply += applies - hooks
		}
		for _, group := range step.Groups {
			s.Sample = appendSample(s.Sample, group)
		}
	}
	return s
}

// fieldsOf names the first fields that change, one a line.
func fieldsOf(o PlannedObject) string {
	var b strings.Builder
	for i, f := range o.Fields {
		if i == maxFields {
			fmt.Fprintf(&b, "\n  and %d more fields", len(o.Fields)-maxFields)
			break
		}
		b.WriteString("\n  " + f.String())
	}
	return b.String()
}

// maxFields is how many fields of an object a summary names.
const maxFields = 5

// deadline is the longest that an object asks for, in seconds.
func (s PlanStep) deadline() (longest int) {
	for _, group := range s.Groups {
		for _, o := range group {
			longest = max(longest, o.Deadline)
		}
	}
	return longest
}

func appendSample(sample []string, group []PlannedObject) []string {
	for _, o := range group {
		if len(sample) == maxSample {
			return sample
		}
		if o.Action == diff.Unchanged {
			continue
		}
		line := fmt.Sprintf("%s %s", o.Action, o.Key)
		if o.Reason != "" {
			line += " (" + o.Reason + ")"
		}
		if o.Unchecked != "" {
			line += "; not tried: " + o.Unchecked
		}
		sample = append(sample, line+fieldsOf(o))
	}
	return sample
}
