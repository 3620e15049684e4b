package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Argo CD's and Helm's annotations that Tidegate reads.
const (
	annotationWave        = "argocd.argoproj.io/sync-wave"
	annotationSyncOptions = "argocd.argoproj.io/sync-options"
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
	// Phases are those in which the object runs as a hook; of an object that is kept
	// in the region like any other there are none.
	Phases []gitops.StepPhase `json:",omitempty"`
	// DeletePolicies say when a hook's object is deleted.
	DeletePolicies []gitops.HookDeletePolicy `json:",omitempty"`
}

// ReadOptions reads annotations in Argo CD's meaning. What Tidegate does not do
// is an error of kind ErrNotSupported, what nobody knows one of kind ErrInvalid.
func ReadOptions(annotations map[string]string) (Options, error) {
	o := Options{Wave: wave(annotations), Keep: KeptByAnnotation(annotations)}
	if err := o.readHooks(annotations); err != nil || o.Skip {
		return o, err
	}
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
