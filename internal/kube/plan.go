package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/health"
	"github.com/tidegate/tidegate/internal/manifest"
)

// PlanInput is what a plan is made from.
type PlanInput struct {
	Target gitops.Target
	Bundle []byte // rendered objects, a JSON list
	Digest string // of the bundle
	MAC    manifest.MAC
	// Rollout names the rollout that the plan is for: what the runs of its hooks are
	// known by.
	Rollout string
	// Siblings are other targets of the same release in the same region.
	Siblings []Sibling
	// Preflight asks the region first whether it would take all that the plan writes.
	Preflight bool
	// Health are the catalog's own rules about kinds.
	Health []gitops.HealthRule
	// Scope is what was asked of this sync beyond the usual.
	Scope gitops.SyncScope
	// DeletedBy is the Delivery that deletes the target, all of it; of the bundle, which
	// may be missing then, only the hooks of a deletion count. Empty for a delivery.
	DeletedBy string
}

// Sibling is another target, with its bundle.
type Sibling struct {
	Target gitops.Target
	Bundle []byte
}

// Plan says what has to be done to bring one target to a bundle. It is a value:
// it is kept as an artifact, and carried out step by step later.
type Plan struct {
	Target string `json:"target"`
	Region string `json:"region"`
	Bundle string `json:"bundle"`
	// Digest covers the desired objects, the prune set and the policy.
	Digest string     `json:"digest"`
	Steps  []PlanStep `json:"steps"`
	// Deletes says that the target itself goes.
	Deletes bool `json:"deletes,omitempty"`
	// Holder is the Delivery that has written a target to be deleted last. It may be
	// another than the one that deletes it, which has found nothing to write.
	Holder string `json:"holder,omitempty"`
	// RunsHooks says that some of the steps may run hooks: Finish ends them.
	RunsHooks bool `json:"runsHooks,omitempty"`
	// Tried says that the region was asked what would change, and would take it all;
	// Changes is a digest of that.
	Tried   bool   `json:"tried,omitempty"`
	Changes string `json:"changes,omitempty"`
	// Health are the catalog's own rules about the kinds of the plan.
	Health []gitops.HealthRule `json:"health,omitempty"`
	// Ignore are the fields that are left to others.
	Ignore []gitops.IgnoreRule `json:"ignore,omitempty"`
	// Propagation is how deletions reach dependents, in the words of the API; foreground
	// when empty.
	Propagation metav1.DeletionPropagation `json:"propagation,omitempty"`
	// KeepManagers leaves the fields of objects that are taken over to whoever wrote
	// them before: what Git does not have stays (ClientSideApplyMigration=false).
	KeepManagers bool `json:"keepManagers,omitempty"`
	Unchanged    int  `json:"unchanged"`
	// Selected is how many objects the scope of the sync selects.
	Selected int `json:"selected,omitempty"`
	// Kept are objects that are no longer desired and stay, with the reason: the
	// target is OutOfSync while there are any.
	Kept []gitops.ObjectIssue `json:"kept,omitempty"`
	// Forgotten are records of objects that are gone, or no longer ours.
	Forgotten []gitops.ObjectKey `json:"forgotten,omitempty"`
	// PruneNeedsApproval says why; empty when it does not.
	PruneNeedsApproval string `json:"pruneNeedsApproval,omitempty"`
}

// PlanStep is one wave of a plan.
type PlanStep struct {
	Phase gitops.StepPhase `json:"phase"`
	Wave  int              `json:"wave"`
	// Groups are done one after the other, the members of one at the same time.
	Groups [][]PlannedObject `json:"groups"`
}

// PlannedObject is what is to be done with one object.
type PlannedObject struct {
	Key        gitops.ObjectKey `json:"key"`
	APIVersion string           `json:"apiVersion"`
	Action     diff.Action      `json:"action"`
	Reason     string           `json:"reason,omitempty"`
	Digest     string           `json:"digest,omitempty"`  // of what is desired
	Content    json.RawMessage  `json:"content,omitempty"` // what is applied, for creates and changes
	// Tracked says that the object's health is waited for.
	Tracked bool `json:"tracked,omitempty"`
	// Fields are what would change, and Unchecked why that is not known, of a plan that
	// was tried out.
	Fields    []gitops.FieldChange `json:"fields,omitempty"`
	Unchecked string               `json:"unchecked,omitempty"`
	// Adopted objects are taken over from whoever wrote them before.
	Adopted bool `json:"adopted,omitempty"`
	// Shared objects are created or kept, and never recorded as the target's own.
	Shared bool `json:"shared,omitempty"`
	// Manner is how it is written, where that is not the usual way.
	Manner Manner `json:"manner,omitzero"`
	// Deadline is how long, in seconds, the object may take to be healthy, if not for
	// the usual time.
	Deadline int `json:"deadline,omitempty"`
	// UID and Generation are of the live object, for what is unchanged or deleted.
	UID        string `json:"uid,omitempty"`
	Generation int64  `json:"generation,omitempty"`
	// Hook is set for a hook: its object is created, and never changed.
	Hook *PlannedHook `json:"hook,omitempty"`
}

// Manner is how an object is written: by server-side apply, unless it says
// otherwise (manifest.Options).
type Manner struct {
	Replace    bool `json:"replace,omitempty"`
	Force      bool `json:"force,omitempty"`
	ClientSide bool `json:"clientSide,omitempty"`
	Lenient    bool `json:"lenient,omitempty"`
}

func mannerOf(o manifest.Options) Manner { return Manner{o.Replace, o.Force, o.ClientSide, o.Lenient} }

// projects says whether what we own of an object is found by what is desired,
// rather than by what the server has noted.
func (m Manner) projects() bool { return m.Replace || m.ClientSide }

// writes says whether carrying out the plan writes this object.
func (o PlannedObject) writes() bool {
	return o.Action == diff.Create || o.Action == diff.Change || o.Action == diff.Run
}

// desired is one object of the bundle on its way into the plan.
type desired struct {
	manifest.Object
	digest  string
	encoded json.RawMessage
	initial json.RawMessage // with the fields that are left to others after
	shared  bool
}

// Plan compares a bundle with a region. It writes nothing. It returns an error of
// kind manifest.ErrInvalid or ErrRefused that names
// every object at fault, and ErrUnreachable when the region does not answer.
func (r *Region) Plan(ctx context.Context, in PlanInput) (Plan, error) {
	make := r.plan
	if in.DeletedBy != "" {
		make = r.planDeletion
	}
	plan, err := make(ctx, in)
	if isUnserved(err) { // what the region serves has changed: now that is known
		plan, err = make(ctx, in)
	}
	if err != nil {
		return Plan{}, fmt.Errorf("plan %s in region %s: %w", in.Target.Name, r.settings.Name, err)
	}
	return plan, nil
}

func (r *Region) plan(ctx context.Context, in PlanInput) (Plan, error) {
	in.Target.SyncPolicy.Prune = in.Target.SyncPolicy.Prune || in.Scope.Prune
	options, err := manifest.TargetOptions(in.Target.SyncPolicy.Options)
	if err != nil {
		return Plan{}, err
	}
	inv, err := r.readInventory(ctx, in.Target.Name)
	if err != nil {
		return Plan{}, fmt.Errorf("read the inventory: %w", err)
	}
	rules, err := health.NewRules(in.Health)
	if err != nil {
		return Plan{}, fmt.Errorf("%w: %w", manifest.ErrInvalid, err)
	}
	wanted, hooks, err := r.desire(ctx, in, options)
	if err != nil {
		return Plan{}, err
	}
	v := r.newView(in, inv, hooks)
	v.wanted, v.options, v.rules = wanted, options, rules
	v.runsHooks, v.wantsNothing = inv.Delivered != in.Digest, len(wanted) == 0
	if v.ignore, err = diff.NewIgnore(in.Target.Ignore); err != nil {
		return Plan{}, fmt.Errorf("%w: ignoreDifferences: %w", manifest.ErrInvalid, err)
	}
	if v.siblings, err = r.declaredBy(ctx, in.Siblings); err != nil {
		return Plan{}, err
	}
	if err := v.read(ctx); err != nil {
		return Plan{}, err
	}
	if err := v.leaveIgnored(ctx); err != nil {
		return Plan{}, err
	}
	verdicts, err := v.compare(ctx, in.Target)
	if err != nil {
		return Plan{}, err
	}
	if verdicts, err = v.selected(in.Scope, verdicts); err == nil {
		err = refused(verdicts)
	}
	if err != nil {
		return Plan{}, err
	}
	plan, err := v.assemble(in, verdicts)
	if err != nil {
		return plan, err
	}
	if in.Preflight {
		err = v.preflight(ctx, &plan)
	}
	plan.Changes = plan.changesDigest(in.MAC)
	return plan, err
}

// desire is the bundle as this target wants it, digested, with the destination
// namespace in front where that is to be created, and the hooks apart.
func (r *Region) desire(ctx context.Context, in PlanInput, options manifest.Options) (wanted []desired, hooks []hook, err error) {
	objects, err := manifest.Parse(in.Bundle)
	if err != nil {
		return nil, nil, err
	}
	placed, err := r.place(ctx, objects, in.Target, options)
	if err != nil {
		return nil, nil, err
	}
	wanted = make([]desired, 0, len(placed)+1)
	if ns, ok := destination(in.Target, placed); ok {
		wanted = append(wanted, desired{Object: ns, shared: true})
	}
	for _, o := range placed {
		if !o.IsHook() {
			wanted = append(wanted, desired{Object: o})
			continue
		}
		h, err := makeHook(in, o)
		if err != nil {
			return nil, nil, err
		}
		hooks = append(hooks, h)
	}
	for i := range wanted {
		if wanted[i].encoded, err = manifest.Encode(wanted[i].Content); err != nil {
			return nil, nil, err
		}
		wanted[i].digest = in.MAC.Digest(wanted[i].encoded)
	}
	return wanted, hooks, nil
}

func (r *Region) place(ctx context.Context, objects []map[string]any, t gitops.Target, options manifest.Options) ([]manifest.Object, error) {
	return manifest.Place(objects, manifest.Placement{
		Target: t.Name, Namespace: t.Namespace, Options: options,
		Namespaced: func(gvk schema.GroupVersionKind) (bool, error) {
			res, err := r.resourceOf(ctx, gvk)
			return res.namespaced, err
		},
	})
}

// declaredBy is what siblings declare. One whose bundle cannot be placed declares
// nothing: its own plan says why.
func (r *Region) declaredBy(ctx context.Context, siblings []Sibling) (map[string]map[gitops.ObjectKey]bool, error) {
	declared := map[string]map[gitops.ObjectKey]bool{}
	for _, s := range siblings {
		objects, err := manifest.Parse(s.Bundle)
		if err != nil {
			continue
		}
		placed, err := r.place(ctx, objects, s.Target, manifest.Options{})
		if errors.Is(err, manifest.ErrInvalid) {
			continue
		}
		if err != nil {
			return nil, err
		}
		keys := make(map[gitops.ObjectKey]bool, len(placed))
		for _, o := range placed {
			keys[o.Key] = true
		}
		declared[s.Target.Name] = keys
	}
	return declared, nil
}

// destination is the namespace that CreateNamespace=true asks for, unless the
// bundle brings it.
func destination(t gitops.Target, placed []manifest.Object) (manifest.Object, bool) {
	key := gitops.ObjectKey{Kind: "Namespace", Name: t.Namespace}
	if !t.SyncPolicy.Has("CreateNamespace") || t.Namespace == "" || len(placed) == 0 {
		return manifest.Object{}, false
	}
	if slices.ContainsFunc(placed, func(o manifest.Object) bool { return o.Key == key }) {
		return manifest.Object{}, false
	}
	first := slices.MinFunc(placed, func(a, b manifest.Object) int {
		return cmp.Or(cmp.Compare(a.Phase.Rank(), b.Phase.Rank()), cmp.Compare(a.Options.Wave, b.Options.Wave))
	})
	labels, annotations := map[string]any{manifest.LabelManaged: "true"}, map[string]any{}
	for k, v := range t.SyncPolicy.NamespaceLabels {
		labels[k] = v
	}
	for k, v := range t.SyncPolicy.NamespaceAnnotations {
		annotations[k] = v
	}
	metadata := map[string]any{"name": t.Namespace, "labels": labels}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	return manifest.Object{
		Key: key, APIVersion: "v1", Phase: first.Phase, Options: manifest.Options{Wave: first.Options.Wave},
		Content: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata},
	}, true
}

// maxNamed bounds how many objects an error names.
const maxNamed = 10

// refused is the error about the objects that exist and are not ours.
func refused(verdicts []diff.Verdict) error {
	var names []string
	n := 0
	for _, v := range verdicts {
		if v.Action != diff.Refuse {
			continue
		}
		if n++; n <= maxNamed {
			names = append(names, fmt.Sprintf("%s: %s", v.Key, v.Reason))
		}
	}
	if n == 0 {
		return nil
	}
	if n > maxNamed {
		names = append(names, fmt.Sprintf("and %d more", n-maxNamed))
	}
	return fmt.Errorf("%w: %s", ErrRefused, strings.Join(names, "; "))
}

// Applies is how many objects the step writes or deletes.
func (s PlanStep) Applies() int {
	return s.count(func(o PlannedObject) bool { return o.writes() || o.Action == diff.Prune })
}

// Waits is how many objects the step waits for: to be healthy, or to be gone.
func (s PlanStep) Waits() int {
	return s.count(func(o PlannedObject) bool { return o.Tracked || o.Action == diff.Prune })
}

func (s PlanStep) count(match func(PlannedObject) bool) (n int) {
	for _, group := range s.Groups {
		for _, o := range group {
			if match(o) {
				n++
			}
		}
	}
	return n
}
