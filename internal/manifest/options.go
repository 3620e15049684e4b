package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Argo CD's and Helm's annotations that Tidegate reads.
const (
	annotationWave        = "argocd.argoproj.io/sync-wave"
	annotationHook        = "argocd.argoproj.io/hook"
	annotationSyncOptions = "argocd.argoproj.io/sync-options"
	annotationHelmHook    = "helm.sh/hook"
	annotationHelmWeight  = "helm.sh/hook-weight"
	annotationHelmPolicy  = "helm.sh/resource-policy"
)

// Options are what an object's annotations ask for.
type Options struct {
	Wave int
	// Keep says that the object is never pruned (Prune=false, or Helm's
	// resource-policy keep).
	Keep bool
	// SkipDryRunOnMissingResource says that the object's kind may be unknown to the
	// region until an earlier wave has brought it.
	SkipDryRunOnMissingResource bool
	// Skip says that the object is not delivered at all (hook Skip).
	Skip bool
}

// ReadOptions reads annotations in Argo CD's meaning. What Tidegate does not do
// is an error of kind ErrNotSupported, what nobody knows one of kind ErrInvalid.
func ReadOptions(annotations map[string]string) (Options, error) {
	o := Options{Wave: wave(annotations)}
	skip, err := readHook(annotations)
	if err != nil {
		return o, err
	}
	o.Skip = skip
	o.Keep = KeptByAnnotation(annotations)
	for _, option := range listed(annotations[annotationSyncOptions]) {
		if err := checkOption(option); err != nil {
			return o, err
		}
		if option == "SkipDryRunOnMissingResource=true" {
			o.SkipDryRunOnMissingResource = true
		}
	}
	return o, nil
}

// KeptByAnnotation says whether a live object's annotations forbid to prune it.
func KeptByAnnotation(annotations map[string]string) bool {
	return annotations[annotationHelmPolicy] == "keep" || slices.Contains(listed(annotations[annotationSyncOptions]), "Prune=false")
}

// wave follows Argo CD: what is not a number counts as absent.
func wave(annotations map[string]string) int {
	for _, name := range []string{annotationWave, annotationHelmWeight} {
		if n, err := strconv.Atoi(strings.TrimSpace(annotations[name])); err == nil {
			return n
		}
	}
	return 0
}

var argoHooks = []string{"PreSync", "Sync", "PostSync", "SyncFail", "PreDelete", "PostDelete"}

func readHook(annotations map[string]string) (skip bool, err error) {
	hooks := listed(annotations[annotationHook])
	for _, hook := range hooks {
		switch {
		case hook == "Skip":
			return true, nil
		case slices.Contains(argoHooks, hook):
			return false, fmt.Errorf("%w: it is a hook (%s: %s); hooks are not run yet", ErrNotSupported, annotationHook, hook)
		default:
			return false, fmt.Errorf("%w: unknown hook %q in %s", ErrInvalid, hook, annotationHook)
		}
	}
	return readHelmHook(annotations)
}

// idleHelmHooks are run by Helm's own commands only, and left out otherwise.
var idleHelmHooks = []string{"test", "test-success", "test-failure", "pre-rollback", "post-rollback"}

func readHelmHook(annotations map[string]string) (skip bool, err error) {
	hooks := listed(annotations[annotationHelmHook])
	for _, hook := range hooks {
		if !slices.Contains(idleHelmHooks, hook) {
			return false, fmt.Errorf("%w: it is a hook (%s: %s); hooks are not run yet", ErrNotSupported, annotationHelmHook, hook)
		}
	}
	return len(hooks) > 0, nil
}

// objectOptions has every option that Argo CD reads from an object's annotation;
// true for those that Tidegate carries out, or that ask for what it does anyway.
var objectOptions = map[string]bool{
	"Prune=true": true, "Prune=false": true, "Prune=confirm": false,
	"PruneLast=true": false, "PruneLast=false": true,
	"Delete=true": true, "Delete=false": false, "Delete=confirm": false,
	"Validate=true": true, "Validate=false": true,
	"ServerSideApply=true": true, "ServerSideApply=false": false,
	"Replace=true": false, "Replace=false": true,
	"Force=true": false, "Force=false": true,
	"SkipDryRunOnMissingResource=true": true, "SkipDryRunOnMissingResource=false": true,
}

func checkOption(option string) error {
	supported, known := objectOptions[option]
	switch {
	case !known:
		return fmt.Errorf("%w: unknown option %q in %s", ErrInvalid, option, annotationSyncOptions)
	case !supported:
		return fmt.Errorf("%w: option %s in %s", ErrNotSupported, option, annotationSyncOptions)
	}
	return nil
}

func listed(value string) []string {
	var items []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
