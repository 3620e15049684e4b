package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/health"
	"github.com/tidegate/tidegate/internal/manifest"
)

// planDeletion is the plan to delete a target: the PreDelete hooks, all that the
// inventory has in reverse waves, the PostDelete hooks. A target without an inventory
// is gone already, and its plan is empty.
func (r *Region) planDeletion(ctx context.Context, in PlanInput) (Plan, error) {
	plan := Plan{Target: in.Target.Name, Region: r.settings.Name, Bundle: in.Digest, Deletes: true, Propagation: propagationOf(in.Target.SyncPolicy)}
	inv, err := r.readInventory(ctx, in.Target.Name)
	if err != nil {
		return plan, fmt.Errorf("read the inventory: %w", err)
	}
	if inv.version == "" {
		plan.Digest = deletionDigest(in.MAC, nil, nil)
		return plan, nil
	}
	plan.Holder = inv.Delivery
	v, err := r.viewOfDeletion(ctx, in, inv)
	if err != nil {
		return plan, err
	}
	if err := v.read(ctx); err != nil {
		return plan, err
	}
	verdicts, err := v.compare(ctx, in.Target)
	if err != nil {
		return plan, err
	}
	var prune []gitops.ObjectKey
	for _, verdict := range verdicts {
		switch verdict.Action { //nolint:exhaustive // nothing is desired
		case diff.Prune:
			prune = append(prune, verdict.Key)
		case diff.Keep:
			plan.Kept = append(plan.Kept, gitops.ObjectIssue{Object: verdict.Key.String(), Message: verdict.Reason})
		default:
			plan.Forgotten = append(plan.Forgotten, verdict.Key)
		}
	}
	plan.Steps, plan.RunsHooks, plan.Health = v.deletionSteps(prune), len(v.hooks) > 0, v.rulesUsed(in.Health)
	plan.Digest = deletionDigest(in.MAC, v.hooks, prune)
	plan.Changes = plan.changesDigest(in.MAC)
	return plan, nil
}

func (r *Region) viewOfDeletion(ctx context.Context, in PlanInput, inv *Inventory) (*view, error) {
	options, err := manifest.TargetOptions(in.Target.SyncPolicy.Options)
	if err != nil {
		return nil, err
	}
	rules, err := health.NewRules(in.Health)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", manifest.ErrInvalid, err)
	}
	hooks, err := r.deletionHooks(ctx, in, options)
	if err != nil {
		return nil, err
	}
	v := r.newView(in, inv, hooks)
	v.options, v.rules, v.runsHooks, v.deletes = options, rules, true, true
	return v, nil
}

// deletionHooks are the hooks of the bundle that run when the target is deleted. The
// rest of it is not looked at: kinds that the region does not serve any more, say, do
// not matter.
func (r *Region) deletionHooks(ctx context.Context, in PlanInput, options manifest.Options) (hooks []hook, err error) {
	if len(in.Bundle) == 0 {
		return nil, nil
	}
	objects, err := manifest.Parse(in.Bundle)
	if err != nil {
		return nil, err
	}
	objects = slices.DeleteFunc(objects, func(o map[string]any) bool { return !manifest.RunsAtDeletion(o) })
	placed, err := r.place(ctx, objects, in.Target, options)
	if err != nil {
		return nil, err
	}
	for _, o := range placed {
		if !manifest.AtDeletion(o.Phase) {
			continue
		}
		h, err := makeHook(in, o)
		if err != nil {
			return nil, err
		}
		hooks = append(hooks, h)
	}
	return hooks, nil
}

// deletionSteps has the prune between the hooks before and those after it.
func (v *view) deletionSteps(prune []gitops.ObjectKey) []PlanStep {
	steps := v.applySteps(nil)
	after := slices.IndexFunc(steps, func(s PlanStep) bool { return s.Phase == gitops.PostDelete })
	if after < 0 {
		after = len(steps)
	}
	return slices.Insert(steps, after, v.pruneSteps(prune)...)
}

func deletionDigest(mac manifest.MAC, hooks []hook, prune []gitops.ObjectKey) string {
	lines := make([]string, 0, len(hooks)+len(prune)+1)
	for _, h := range hooks {
		lines = append(lines, fmt.Sprintf("hook %q %s", h.HookID(), h.digest))
	}
	for _, key := range prune {
		lines = append(lines, fmt.Sprintf("prune %q", key))
	}
	slices.Sort(lines)
	return mac("plan", []byte(strings.Join(append(lines, "deletes the target"), "\n")))
}

// isErased says whether a plan to delete its target was carried out before, to its end.
func (r *Region) isErased(ctx context.Context, plan Plan) (bool, error) {
	if !plan.Deletes {
		return false, nil
	}
	inv, err := r.readInventory(ctx, plan.Target)
	if err != nil || inv.version != "" {
		return false, err
	}
	r.known.Remove(plan.Target)
	return true, r.sweepParts(ctx, inventoryObject(plan.Target, headName(plan.Target)))
}

// erase deletes the inventory: the target is gone. It may be repeated.
func (f *fence) erase(ctx context.Context) error {
	f.turn.Lock()
	defer f.turn.Unlock()
	r, target := f.region, f.inv.Target
	inv, err := r.readInventory(ctx, target)
	if err != nil {
		return err
	}
	r.known.Remove(target)
	if inv.version != "" {
		if err := f.holds(inv); err != nil {
			return err
		}
		if err := r.deleteConfigMap(ctx, headName(target), inv.version); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete the inventory of %s in region %s: %w", target, r.settings.Name, err)
		}
	}
	return r.sweepParts(ctx, inventoryObject(target, headName(target)))
}

// deleteConfigMap deletes one of ours if it still is what was read; errMoved when it is
// not.
func (r *Region) deleteConfigMap(ctx context.Context, name, version string) error {
	policy := metav1.DeletePropagationBackground
	_, err := r.deleteIf(ctx, inventories, gitops.ObjectKey{Kind: "ConfigMap", Namespace: systemNamespace, Name: name}, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{ResourceVersion: &version}, PropagationPolicy: &policy,
	})
	if errors.Is(err, errMoved) {
		return fmt.Errorf("%w: somebody has changed it", ErrFenced)
	}
	return err
}
