package kube

import (
	"fmt"

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
		sample = append(sample, line)
	}
	return sample
}
