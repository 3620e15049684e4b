package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/spelling"
)

// Argo CD's and Helm's annotations that Tidegate reads.
const (
	annotationWave        = "argocd.argoproj.io/sync-wave"
	annotationSyncOptions = "argocd.argoproj.io/sync-options"
	annotationCompare     = "argocd.argoproj.io/compare-options"
	annotationHelmWeight  = "helm.sh/hook-weight"
	annotationHelmPolicy  = "helm.sh/resource-policy"
	// annotationWait says with false that an object is started and not waited for.
	annotationWait = "tidegate.dev/wait"
	// annotationIgnoreHealth is Argo CD's for the same.
	annotationIgnoreHealth = "argocd.argoproj.io/ignore-healthcheck"
	// annotationDeadline is how long the object may take to be healthy, as 30m.
	annotationDeadline = "tidegate.dev/deadline"
)

// Removal says whether an object may be removed.
type Removal string

// The answers; the empty one is that it may.
const (
	RemovalNever     Removal = "never"
	RemovalConfirmed Removal = "confirmed" // when somebody has approved it
)

// Options are what a target's sync options and an object's annotations ask for,
// those of the object first.
type Options struct {
	Wave int
	// Prune says whether the object goes when it is no longer declared; PruneLast
	// that it goes after all others.
	Prune     Removal `json:",omitempty"`
	PruneLast bool    `json:",omitempty"`
	// Delete says whether the object goes with its target.
	Delete Removal `json:",omitempty"`
	// Lenient turns validation off: fields that the kind does not have are dropped
	// (Validate=false).
	Lenient bool `json:",omitempty"`
	// Replace puts the object in the place of what is there, rather than applying it.
	Replace bool `json:",omitempty"`
	// Force deletes what is there and makes it anew, where that is what it takes.
	Force bool `json:",omitempty"`
	// ClientSide merges what is desired, live and applied last, rather than leaving
	// that to the server (ServerSideApply=false).
	ClientSide bool `json:",omitempty"`
	// SkipDryRunOnMissingResource says that the object's kind may be unknown to the
	// region until an earlier wave has brought it.
	SkipDryRunOnMissingResource bool `json:",omitempty"`
	// NoWait says that the object's health is not waited for; Deadline, in seconds,
	// how long it is if not for the usual time.
	NoWait   bool `json:",omitempty"`
	Deadline int  `json:",omitempty"`
	// Adopt is true, or the name of a target: from whom the object may be taken over.
	Adopt string `json:",omitempty"`
	// IgnoreExtraneous says that the object does not make its target OutOfSync when it
	// is no longer declared and stays.
	IgnoreExtraneous bool `json:",omitempty"`
	// Skip says that the object is not delivered at all (hook Skip).
	Skip bool `json:",omitempty"`
	// Phases are those in which the object runs as a hook; of an object that is kept
	// in the region like any other there are none.
	Phases []gitops.StepPhase `json:",omitempty"`
	// DeletePolicies say when a hook's object is deleted.
	DeletePolicies []gitops.HookDeletePolicy `json:",omitempty"`
}

// ReadOptions reads annotations in Argo CD's meaning, on top of what the target's
// sync options say. What nobody knows is an error of kind ErrInvalid.
func ReadOptions(annotations map[string]string, target Options) (Options, error) {
	o := target
	o.Wave, o.Adopt = wave(annotations), annotations[AnnotationAdopt]
	if err := o.readHooks(annotations); err != nil || o.Skip {
		return o, err
	}
	for _, option := range listed(annotations[annotationSyncOptions]) {
		if err := o.set(option, ofObject); err != nil {
			return o, fmt.Errorf("%w: %s: %w", ErrInvalid, annotationSyncOptions, err)
		}
	}
	if err := CheckCompareOptions(annotations[annotationCompare]); err != nil {
		return o, fmt.Errorf("%w: %s: %w", ErrInvalid, annotationCompare, err)
	}
	o.IgnoreExtraneous = slices.Contains(listed(annotations[annotationCompare]), ignoreExtraneous)
	if annotations[annotationHelmPolicy] == "keep" { // whatever the options say, as in Argo CD
		o.Prune, o.Delete = RemovalNever, RemovalNever
	}
	return o, o.readWait(annotations)
}

// TargetOptions are what the sync options of a target say of all its objects.
func TargetOptions(options []string) (o Options, err error) {
	for _, option := range options {
		if err := o.set(option, ofTarget); err != nil {
			return o, fmt.Errorf("%w: spec.syncPolicy.syncOptions: %w", ErrInvalid, err)
		}
	}
	return o, nil
}

// scope is where a sync option may be written.
type scope int

const (
	ofTarget scope = 1 << iota
	ofObject
	ofBoth = ofTarget | ofObject
)

// option is one value of a sync option: where it may stand, and what it does.
type option struct {
	scope scope
	set   func(*Options)
}

var nothing = func(*Options) {}

// options has every value of every option that Argo CD knows (docs/sync.md).
var options = map[string]map[string]option{
	"Validate":                    {"true": {ofBoth, func(o *Options) { o.Lenient = false }}, "false": {ofBoth, func(o *Options) { o.Lenient = true }}},
	"Prune":                       {"true": {ofBoth, func(o *Options) { o.Prune = "" }}, "false": {ofBoth, func(o *Options) { o.Prune = RemovalNever }}, "confirm": {ofBoth, func(o *Options) { o.Prune = RemovalConfirmed }}},
	"PruneLast":                   {"true": {ofBoth, func(o *Options) { o.PruneLast = true }}, "false": {ofBoth, func(o *Options) { o.PruneLast = false }}},
	"Delete":                      {"true": {ofBoth, func(o *Options) { o.Delete = "" }}, "false": {ofBoth, func(o *Options) { o.Delete = RemovalNever }}, "confirm": {ofBoth, func(o *Options) { o.Delete = RemovalConfirmed }}},
	"Replace":                     {"true": {ofBoth, func(o *Options) { o.Replace = true }}, "false": {ofBoth, func(o *Options) { o.Replace = false }}},
	"Force":                       {"true": {ofBoth, func(o *Options) { o.Force = true }}, "false": {ofBoth, func(o *Options) { o.Force = false }}},
	"ServerSideApply":             {"true": {ofBoth, func(o *Options) { o.ClientSide = false }}, "false": {ofBoth, func(o *Options) { o.ClientSide = true }}},
	"SkipDryRunOnMissingResource": {"true": {ofBoth, func(o *Options) { o.SkipDryRunOnMissingResource = true }}, "false": {ofBoth, func(o *Options) { o.SkipDryRunOnMissingResource = false }}},
	// These are the target's own, and read where they matter.
	"ApplyOutOfSyncOnly":       {"true": {ofTarget, nothing}, "false": {ofTarget, nothing}},
	"ClientSideApplyMigration": {"true": {ofTarget, nothing}, "false": {ofTarget, nothing}},
	"CreateNamespace":          {"true": {ofTarget, nothing}, "false": {ofTarget, nothing}},
	"FailOnSharedResource":     {"true": {ofTarget, nothing}, "false": {ofTarget, nothing}},
	"RespectIgnoreDifferences": {"true": {ofTarget, nothing}, "false": {ofTarget, nothing}},
	"PrunePropagationPolicy":   {"foreground": {ofTarget, nothing}, "background": {ofTarget, nothing}, "orphan": {ofTarget, nothing}},
}

const ignoreExtraneous = "IgnoreExtraneous"

// compareOptions are Argo CD's compare-options. But for the first they say how it
// compares, which Tidegate does in another way (docs/sync.md).
var compareOptions = []string{ignoreExtraneous, "ServerSideDiff=true", "ServerSideDiff=false", "IncludeMutationWebhook=true", "IncludeMutationWebhook=false"}

// CheckCompareOptions says what is wrong with compare-options, separated by commas; nil
// when all are understood.
func CheckCompareOptions(text string) error {
	for _, option := range listed(text) {
		if !slices.Contains(compareOptions, option) {
			return fmt.Errorf("unknown compare option %q%s", option, spelling.Hint(option, compareOptions))
		}
	}
	return nil
}

// CheckOption says what is wrong with a sync option of a target; nil when it is
// understood.
func CheckOption(text string) error { return new(Options).set(text, ofTarget) }

func (o *Options) set(text string, where scope) error {
	name, value, _ := strings.Cut(text, "=")
	values, known := options[name]
	if !known {
		return fmt.Errorf("unknown sync option %q%s", text, spelling.Hint(name, slices.Sorted(maps.Keys(options))))
	}
	chosen, known := values[value]
	if !known {
		return fmt.Errorf("sync option %s cannot be %q; it is one of %s", name, value, strings.Join(slices.Sorted(maps.Keys(values)), ", "))
	}
	if chosen.scope&where == 0 {
		return fmt.Errorf("sync option %s is one of the whole Application, not of an object", name)
	}
	chosen.set(o)
	return nil
}

// LeftOver are the options of a live object that is no longer declared, by what its
// annotations say of it.
func LeftOver(annotations map[string]string, target Options) Options {
	o, err := ReadOptions(annotations, target)
	if err != nil { // what somebody has written into a live object by hand
		return Options{Prune: RemovalNever, Delete: RemovalNever}
	}
	return o
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

func listed(value string) []string {
	var items []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
