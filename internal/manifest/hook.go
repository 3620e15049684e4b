package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/spelling"
)

// Argo CD's and Helm's annotations of hooks.
const (
	annotationHook       = "argocd.argoproj.io/hook"
	annotationHookDelete = "argocd.argoproj.io/hook-delete-policy"
	annotationHelmHook   = "helm.sh/hook"
	annotationHelmDelete = "helm.sh/hook-delete-policy"
)

const (
	// AnnotationHookRun tells the runs of a hook apart: one of an earlier rollout is
	// another run.
	AnnotationHookRun = "tidegate.dev/hook-run"
	// HookFinalizer is on hooks that run to an end. It keeps one that deletes itself
	// (a Job's ttlSecondsAfterFinished) until its end was seen.
	HookFinalizer = "tidegate.dev/hook"
)

// hookSkip is the hook type of objects that are not delivered.
const hookSkip = "Skip"

// helmPhases are Helm's hooks in Argo CD's phases. What only Helm's own commands
// run has none.
var helmPhases = map[string]gitops.StepPhase{
	"pre-install": gitops.PreSync, "pre-upgrade": gitops.PreSync,
	"post-install": gitops.PostSync, "post-upgrade": gitops.PostSync,
	"pre-delete": gitops.PreDelete, "post-delete": gitops.PostDelete,
	"pre-rollback": "", "post-rollback": "", "test": "", "test-success": "", "test-failure": "",
}

// helmCRDInstall marks definitions, which come before what needs them anyway.
const helmCRDInstall = "crd-install"

var helmPolicies = map[string]gitops.HookDeletePolicy{
	"before-hook-creation": gitops.BeforeHookCreation, "hook-succeeded": gitops.HookSucceeded, "hook-failed": gitops.HookFailed,
}

var hookPolicies = map[string]gitops.HookDeletePolicy{
	string(gitops.BeforeHookCreation): gitops.BeforeHookCreation, string(gitops.HookSucceeded): gitops.HookSucceeded, string(gitops.HookFailed): gitops.HookFailed,
}

// readHooks reads what the annotations say of hooks. Helm's count only where Argo
// CD's are absent.
func (o *Options) readHooks(annotations map[string]string) error {
	if err := o.readArgoHooks(annotations); err != nil || o.Skip || len(o.Phases) > 0 {
		return err
	}
	return o.readHelmHooks(annotations)
}

func (o *Options) readArgoHooks(annotations map[string]string) (err error) {
	names := listed(annotations[annotationHook])
	if o.Skip = slices.Contains(names, hookSkip); o.Skip {
		return nil
	}
	for _, name := range names {
		phase := gitops.StepPhase(name)
		if !slices.Contains(gitops.HookPhases, phase) {
			return fmt.Errorf("%w: unknown hook %q in %s%s", ErrInvalid, name, annotationHook, spelling.Hint(name, hookNames()))
		}
		o.addPhase(phase)
	}
	if len(names) > 0 {
		o.DeletePolicies, err = policies(annotations, annotationHookDelete, hookPolicies)
	}
	return err
}

func (o *Options) readHelmHooks(annotations map[string]string) (err error) {
	names := listed(annotations[annotationHelmHook])
	if len(names) == 0 || slices.Contains(names, helmCRDInstall) {
		return nil
	}
	for _, name := range names {
		phase, known := helmPhases[name]
		if !known {
			return fmt.Errorf("%w: unknown hook %q in %s%s", ErrInvalid, name, annotationHelmHook, spelling.Hint(name, slices.Sorted(maps.Keys(helmPhases))))
		}
		if phase != "" {
			o.addPhase(phase)
		}
	}
	if o.Skip = len(o.Phases) == 0; o.Skip {
		return nil
	}
	// Argo CD's annotation works on Helm's hooks, too.
	if o.DeletePolicies, err = policies(annotations, annotationHookDelete, hookPolicies); err != nil || annotations[annotationHookDelete] != "" {
		return err
	}
	o.DeletePolicies, err = policies(annotations, annotationHelmDelete, helmPolicies)
	return err
}

func (o *Options) addPhase(phase gitops.StepPhase) {
	if !slices.Contains(o.Phases, phase) {
		o.Phases = append(o.Phases, phase)
	}
}

func policies(annotations map[string]string, annotation string, known map[string]gitops.HookDeletePolicy) (out []gitops.HookDeletePolicy, err error) {
	for _, name := range listed(annotations[annotation]) {
		policy, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("%w: unknown policy %q in %s%s", ErrInvalid, name, annotation, spelling.Hint(name, slices.Sorted(maps.Keys(known))))
		}
		if !slices.Contains(out, policy) {
			out = append(out, policy)
		}
	}
	if len(out) == 0 {
		out = []gitops.HookDeletePolicy{gitops.BeforeHookCreation}
	}
	return out, nil
}

// RunsAtDeletion says whether an object, as it was rendered, is a hook of the deletion
// of its target. What cannot be read is none.
func RunsAtDeletion(content map[string]any) bool {
	metadata, _ := content["metadata"].(map[string]any)
	annotations, err := stringMap(metadata, "annotations")
	if err != nil {
		return false
	}
	o, err := ReadOptions(annotations, Options{})
	return err == nil && slices.ContainsFunc(o.Phases, AtDeletion)
}

// AtDeletion says whether hooks of a phase run when their target is deleted.
func AtDeletion(phase gitops.StepPhase) bool {
	return phase == gitops.PreDelete || phase == gitops.PostDelete
}

func hookNames() []string {
	names := []string{hookSkip}
	for _, phase := range gitops.HookPhases {
		names = append(names, string(phase))
	}
	return names
}

// HookID is what the runs of one hook have in common: its phase, and its object as
// it is declared.
func (o Object) HookID() string { return string(o.Phase) + " " + o.Key.String() }

// Run is a hook as one rollout runs it: with a name of its own where it asks for a
// generated one, and marked so that a retry knows it again. The same rollout makes
// the same run. ends says that the hook runs to an end, which must not be missed.
func (o Object) Run(target, rollout string, ends bool) (run Object, id string) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", target, rollout, o.HookID()))
	id = hex.EncodeToString(sum[:hookDigits/2])
	run = o
	run.Content = runtime.DeepCopyJSON(o.Content)
	metadata, _ := run.Content["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if base := text(metadata, "generateName"); base != "" {
		delete(metadata, "generateName")
		run.Key.Name = base[:min(len(base), longestName-hookDigits)] + id
		metadata["name"] = run.Key.Name
		annotations[AnnotationTracking] = TrackingID(target, run.Key)
	}
	annotations[AnnotationHookRun] = id
	if finalizers, _ := metadata["finalizers"].([]any); ends && !slices.Contains(finalizers, any(HookFinalizer)) {
		metadata["finalizers"] = append(finalizers, HookFinalizer)
	}
	return run, id
}

const (
	hookDigits  = 10
	longestName = 63 // of a Job, whose name becomes a label of its pods
)
