package kube

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
	"github.com/tidegate/tidegate/internal/waves"
)

// assemble makes the plan of the verdicts.
func (v *view) assemble(in PlanInput, verdicts []diff.Verdict) (Plan, error) {
	plan := Plan{Target: in.Target.Name, Region: v.region.settings.Name, Bundle: in.Digest, Propagation: propagationOf(in.Target.SyncPolicy)}
	plan.Ignore = in.Target.Ignore
	plan.Health = v.rulesUsed(in.Health)
	plan.KeepManagers = in.Target.SyncPolicy.Value("ClientSideApplyMigration") == "false"
	var prune []gitops.ObjectKey
	for i, verdict := range verdicts {
		switch verdict.Action {
		case diff.Unchanged:
			plan.Unchanged++
		case diff.Prune:
			prune = append(prune, verdict.Key)
		case diff.Keep:
			if verdict.Ignored {
				continue
			}
			plan.Kept = append(plan.Kept, gitops.ObjectIssue{Object: verdict.Key.String(), Message: verdict.Reason})
		case diff.Forget:
			plan.Forgotten = append(plan.Forgotten, verdict.Key)
		case diff.Look, diff.Refuse:
			return plan, fmt.Errorf("%s is still to be judged: %s", verdicts[i].Key, verdict.Action)
		}
	}
	plan.Selected = len(verdicts)
	if slices.ContainsFunc(v.wanted, func(d desired) bool { return d.shared }) {
		plan.Selected-- // nobody asks for the destination namespace
	}
	if v.wantsNothing && len(prune) > 0 && !in.Target.SyncPolicy.AllowEmpty {
		return plan, fmt.Errorf("%w: the bundle is empty, which would delete all %d objects; set syncPolicy.automated.allowEmpty if that is meant", ErrRefused, len(prune))
	}
	if plan.PruneNeedsApproval = diff.PruneNeedsApproval(prune, v.present()); plan.PruneNeedsApproval == "" {
		plan.PruneNeedsApproval = confirmation(verdicts)
	}
	plan.Steps = v.steps(verdicts)
	plan.RunsHooks = v.runsHooks && len(v.hooks) > 0
	plan.Digest = v.digest(in.Target, prune)
	return plan, nil
}

// steps are all steps in order: what is no longer wanted goes when all that is
// wanted is there, and before the hooks that follow a sync.
func (v *view) steps(verdicts []diff.Verdict) []PlanStep {
	steps := v.applySteps(verdicts)
	after := slices.IndexFunc(steps, func(s PlanStep) bool { return s.Phase.Rank() > gitops.Prune.Rank() })
	if after < 0 {
		after = len(steps)
	}
	var first, last []gitops.ObjectKey
	for _, verdict := range verdicts {
		switch {
		case verdict.Action == diff.Prune && verdict.Last:
			last = append(last, verdict.Key)
		case verdict.Action == diff.Prune:
			first = append(first, verdict.Key)
		}
	}
	return slices.Insert(steps, after, append(v.pruneSteps(first), v.pruneSteps(last)...)...)
}

func (v *view) applySteps(verdicts []diff.Verdict) []PlanStep {
	items, objects := make([]waves.Item, 0, len(v.wanted)+len(v.hooks)), make([]PlannedObject, 0, len(v.wanted)+len(v.hooks))
	for i, d := range v.wanted {
		item := waves.Item{Key: d.Key, Phase: d.Phase, Wave: d.Options.Wave}
		item.Defines, _, _ = manifest.DefinedKind(d.Content)
		items, objects = append(items, item), append(objects, v.planned(d, verdicts[i]))
	}
	for _, h := range v.hooks {
		if v.runsHooks && manifest.AtDeletion(h.Phase) == v.deletes {
			items, objects = append(items, waves.Item{Key: h.Key, Phase: h.Phase, Wave: h.Options.Wave}), append(objects, h.planned(v.rules))
		}
	}
	return stepsOf(items, objects)
}

func stepsOf(items []waves.Item, planned []PlannedObject) []PlanStep {
	var steps []PlanStep
	for _, s := range waves.Order(items) {
		step := PlanStep{Phase: s.Phase, Wave: s.Wave}
		for _, group := range s.Groups {
			objects := make([]PlannedObject, 0, len(group))
			for _, i := range group {
				objects = append(objects, planned[i])
			}
			step.Groups = append(step.Groups, objects)
		}
		if step.Applies()+step.Waits() > 0 {
			steps = append(steps, step)
		}
	}
	return steps
}

func (v *view) planned(d desired, verdict diff.Verdict) PlannedObject {
	live := v.live[d.Key]
	o := PlannedObject{
		Key: d.Key, APIVersion: d.APIVersion, Action: verdict.Action, Reason: verdict.Reason, Digest: d.digest,
		Tracked: v.rules.Tracked(d.Content) && !d.Options.NoWait, Deadline: d.Options.Deadline, Manner: mannerOf(d.Options), Adopted: verdict.Adopted,
		Shared: d.shared, UID: live.UID, Generation: live.Generation,
	}
	if o.writes() {
		o.Content = d.encoded
	}
	if o.Action == diff.Create && d.initial != nil {
		o.Content = d.initial
	}
	return o
}

// pruneSteps deletes in the opposite order of an apply.
func (v *view) pruneSteps(prune []gitops.ObjectKey) []PlanStep {
	items := make([]waves.Item, len(prune))
	for i, key := range prune {
		items[i] = waves.Item{Key: key, Wave: v.records[key].Wave}
	}
	var steps []PlanStep
	for _, s := range waves.Reverse(items) {
		step := PlanStep{Phase: gitops.Prune, Wave: s.Wave}
		for _, group := range s.Groups {
			objects := make([]PlannedObject, 0, len(group))
			for _, i := range group {
				key := prune[i]
				objects = append(objects, PlannedObject{Key: key, APIVersion: v.records[key].APIVersion, Action: diff.Prune, UID: v.live[key].UID})
			}
			step.Groups = append(step.Groups, objects)
		}
		steps = append(steps, step)
	}
	return steps
}

// present is how many of the recorded objects there are.
func (v *view) present() (n int) {
	for key := range v.records {
		if _, exists := v.live[key]; exists {
			n++
		}
	}
	return n
}

// rulesUsed are those of the catalog about kinds of this plan.
func (v *view) rulesUsed(all []gitops.HealthRule) (used []gitops.HealthRule) {
	for _, r := range all {
		is := func(key gitops.ObjectKey) bool { return key.Group == r.Group && key.Kind == r.Kind }
		if slices.ContainsFunc(v.wanted, func(d desired) bool { return is(d.Key) }) || slices.ContainsFunc(v.hooks, func(h hook) bool { return is(h.Key) }) {
			used = append(used, r)
		}
	}
	return used
}

// confirmation is why a prune waits for an approval although it is within the
// deletion budget.
func confirmation(verdicts []diff.Verdict) string {
	for _, verdict := range verdicts {
		if verdict.Confirm {
			return fmt.Sprintf("it deletes %s: its Prune=confirm asks for an approval", verdict.Key)
		}
	}
	return ""
}

// propagationOf is how a target's deletions reach dependents. As in Argo CD that is
// foreground: what is deleted is there until they are gone.
func propagationOf(p gitops.SyncPolicy) metav1.DeletionPropagation {
	switch p.Value("PrunePropagationPolicy") {
	case "background":
		return metav1.DeletePropagationBackground
	case "orphan":
		return metav1.DeletePropagationOrphan
	default:
		return metav1.DeletePropagationForeground
	}
}

// digest is the plan's: over what is desired, what is deleted, and the policy; not
// over the live objects, so that it stays the same while nothing else changes.
func (v *view) digest(t gitops.Target, prune []gitops.ObjectKey) string {
	lines := make([]string, 0, len(v.wanted)+len(prune)+1)
	for _, d := range v.wanted {
		lines = append(lines, fmt.Sprintf("want %q %s", d.Key, d.digest))
	}
	for _, h := range v.hooks {
		lines = append(lines, fmt.Sprintf("hook %q %s", h.HookID(), h.digest))
	}
	for _, key := range prune {
		lines = append(lines, fmt.Sprintf("prune %q", key))
	}
	slices.Sort(lines)
	lines = append(lines, fmt.Sprintf("policy prune=%t allowEmpty=%t options=%q", t.SyncPolicy.Prune, t.SyncPolicy.AllowEmpty, t.SyncPolicy.Options))
	return v.mac("plan", []byte(strings.Join(lines, "\n")))
}
