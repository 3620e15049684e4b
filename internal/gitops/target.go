package gitops

import (
	"strings"
	"time"
)

// Source is where the manifests of a Target come from.
type Source struct {
	RepoURL    string `json:"repoURL"`    // as the catalog writes it; what is dialled
	Repository string `json:"repository"` // the normalised identity: host[:port]/path
	// Revision is Argo CD's targetRevision: a branch, tag or commit; HEAD when it
	// is empty in the catalog.
	Revision  string     `json:"revision"`
	Path      string     `json:"path"` // slash-separated, relative, "." for the root
	Directory *Directory `json:"directory,omitempty"`
	Kustomize *Kustomize `json:"kustomize,omitempty"`
	Helm      *Helm      `json:"helm,omitempty"`
	Plugin    *Plugin    `json:"plugin,omitempty"`
	// GeneratePaths are what the manifests depend on where that is not found out:
	// paths in the repository, which may be patterns. Only plugins are such.
	GeneratePaths []string `json:"generatePaths,omitempty"`
	// Chart is the name of a chart, when RepoURL is a Helm repository or an OCI
	// registry and no Git repository; Revision is a version or a range of them then.
	Chart string `json:"chart,omitempty"`
	// RefName is what other sources of the same target call this one: $name/file.
	RefName string `json:"refName,omitempty"`
}

// IsRendered says whether the source has manifests: one without a path is only
// there for its files.
func (s Source) IsRendered() bool { return s.Path != "" }

// Ref names the moving thing that a source follows: one repository at one
// catalogued revision.
func (s Source) Ref() Ref { return Ref{Repository: s.Repository, Revision: s.Revision} }

// Ref is one repository at one revision name of the catalog (a branch, a tag,
// HEAD). At most one Push workflow works on a Ref at a time.
type Ref struct {
	Repository string `json:"repository"`
	Revision   string `json:"revision"`
}

// String is the form used as a key and in messages: repository@revision.
func (r Ref) String() string { return r.Repository + "@" + r.Revision }

// Directory holds Argo CD's options for a folder of plain manifests.
type Directory struct {
	Recurse bool   `json:"recurse,omitempty"`
	Include string `json:"include,omitempty"`
	Exclude string `json:"exclude,omitempty"`
	// Jsonnet is for the .jsonnet files among the manifests.
	Jsonnet *Jsonnet `json:"jsonnet,omitempty"`
}

// Jsonnet holds the options of spec.source.directory.jsonnet.
type Jsonnet struct {
	ExtVars []JsonnetVar `json:"extVars,omitempty"`
	TLAs    []JsonnetVar `json:"tlas,omitempty"` // arguments of a file that is a function
	Libs    []string     `json:"libs,omitempty"` // folders of the repository, from its root; the last one is looked in first
}

// JsonnetVar is a string, or code, by its name.
type JsonnetVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Code  bool   `json:"code,omitempty"`
}

// Kustomize holds the options of spec.source.kustomize that are supported.
type Kustomize struct {
	NamePrefix string   `json:"namePrefix,omitempty"`
	NameSuffix string   `json:"nameSuffix,omitempty"`
	Images     []string `json:"images,omitempty"` // Argo CD's form: [old=]image[:tag|@digest]
	Namespace  string   `json:"namespace,omitempty"`
	// Replicas replace what the manifests say, by the name of the workload.
	Replicas   []KustomizeReplicas `json:"replicas,omitempty"`
	Patches    []KustomizePatch    `json:"patches,omitempty"`
	Components []string            `json:"components,omitempty"` // folders, relative to Path
	// IgnoreMissingComponents leaves out those that are not there.
	IgnoreMissingComponents bool              `json:"ignoreMissingComponents,omitempty"`
	CommonLabels            map[string]string `json:"commonLabels,omitempty"`
	// LabelWithoutSelector keeps the common labels out of selectors and pod
	// templates; LabelIncludeTemplates puts them into the templates even so.
	LabelWithoutSelector  bool `json:"labelWithoutSelector,omitempty"`
	LabelIncludeTemplates bool `json:"labelIncludeTemplates,omitempty"`
	// ForceCommonLabels and ForceCommonAnnotations let them replace those of the
	// kustomization; without it that is an error.
	ForceCommonLabels      bool              `json:"forceCommonLabels,omitempty"`
	CommonAnnotations      map[string]string `json:"commonAnnotations,omitempty"`
	ForceCommonAnnotations bool              `json:"forceCommonAnnotations,omitempty"`
	// CommonAnnotationsEnvsubst puts the build environment into the annotations.
	CommonAnnotationsEnvsubst bool `json:"commonAnnotationsEnvsubst,omitempty"`
	// KubeVersion and APIVersions are what charts in helmCharts learn about the
	// cluster; Helm's own idea of one when they are empty.
	KubeVersion string   `json:"kubeVersion,omitempty"`
	APIVersions []string `json:"apiVersions,omitempty"`
}

// IsZero says whether the options change nothing; switches alone do not.
func (k Kustomize) IsZero() bool {
	return k.NamePrefix == "" && k.NameSuffix == "" && k.Namespace == "" && len(k.Images) == 0 && len(k.Replicas) == 0 &&
		len(k.Patches) == 0 && len(k.Components) == 0 && len(k.CommonLabels) == 0 && len(k.CommonAnnotations) == 0 && k.KubeVersion == "" && len(k.APIVersions) == 0
}

// KustomizeReplicas is how many replicas a workload has.
type KustomizeReplicas struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// KustomizePatch is one of kustomization.yaml's patches: written in place, or the
// path of a file, relative to the source's Path.
type KustomizePatch struct {
	Path   string                `json:"path,omitempty"`
	Patch  string                `json:"patch,omitempty"`
	Target *KustomizePatchTarget `json:"target,omitempty"`
	// AllowNameChange and AllowKindChange are the patch's options of that name.
	AllowNameChange bool `json:"allowNameChange,omitempty"`
	AllowKindChange bool `json:"allowKindChange,omitempty"`
}

// KustomizePatchTarget selects the objects that are patched; kind, name and
// namespace are regular expressions.
type KustomizePatchTarget struct {
	Group              string `json:"group,omitempty"`
	Version            string `json:"version,omitempty"`
	Kind               string `json:"kind,omitempty"`
	Name               string `json:"name,omitempty"`
	Namespace          string `json:"namespace,omitempty"`
	LabelSelector      string `json:"labelSelector,omitempty"`
	AnnotationSelector string `json:"annotationSelector,omitempty"`
}

// Target is one generated Application: sources, a region, a namespace.
type Target struct {
	Name      string            `json:"name"`
	Project   string            `json:"project"`
	Region    string            `json:"region"`
	Namespace string            `json:"namespace"`
	Labels    map[string]string `json:"labels,omitempty"`
	Source    Source            `json:"source"`
	// More are the sources after the first one with manifests. What a later source
	// declares replaces an object of an earlier one.
	More       []Source   `json:"more,omitempty"`
	SyncPolicy SyncPolicy `json:"syncPolicy"`
	// Substitute are the values of ${NAME} in the rendered objects, as Flux has them
	// in postBuild.
	Substitute map[string]string `json:"substitute,omitempty"`
	// Finalizer says that retiring the Application deletes its objects (Argo CD's
	// resources-finalizer); without it they stay.
	Finalizer bool `json:"finalizer,omitempty"`
	// Ignore are the fields that are left to others.
	Ignore []IgnoreRule `json:"ignore,omitempty"`
	// Preflight says when the region is asked first whether it would take all that a
	// plan writes: always, never, or, when empty, where a person is shown the plan.
	Preflight Preflight `json:"preflight,omitempty"`
	// Adopt allows to take over objects that exist and nobody of Tidegate's manages.
	Adopt bool `json:"adopt,omitempty"`
	// RenamedFrom is the target whose objects this one takes over.
	RenamedFrom string `json:"renamedFrom,omitempty"`
}

// Preflight says when a plan is tried out first.
type Preflight string

// The values of Preflight.
const (
	PreflightAuto   Preflight = ""
	PreflightAlways Preflight = "always"
	PreflightNever  Preflight = "never"
)

// Wanted says whether a plan is tried out first, where a person is shown it or not.
func (p Preflight) Wanted(shown bool) bool {
	return p == PreflightAlways || p == PreflightAuto && shown
}

// Sources are all sources of the target.
func (t Target) Sources() []Source { return append([]Source{t.Source}, t.More...) }

// SyncPolicy is Argo CD's spec.syncPolicy as far as it is supported.
type SyncPolicy struct {
	// Automated says that a new release is delivered without being asked for. A
	// target without it stays OutOfSync until somebody syncs or approves.
	Automated  bool `json:"automated,omitempty"`
	Prune      bool `json:"prune,omitempty"`
	SelfHeal   bool `json:"selfHeal,omitempty"`
	AllowEmpty bool `json:"allowEmpty,omitempty"`
	// Retry says how often a sync that has failed is tried again; nil for not at all.
	Retry *Retry `json:"retry,omitempty"`
	// Options are Argo CD's syncOptions, such as CreateNamespace=true.
	Options []string `json:"options,omitempty"`
	// NamespaceLabels and NamespaceAnnotations are managedNamespaceMetadata.
	NamespaceLabels      map[string]string `json:"namespaceLabels,omitempty"`
	NamespaceAnnotations map[string]string `json:"namespaceAnnotations,omitempty"`
}

// Retry is Argo CD's syncPolicy.retry. Before the n-th retry, from 0, passes the
// smaller of MaxDuration and Duration·Factorⁿ.
type Retry struct {
	Limit       int           `json:"limit"` // how many retries; negative for as many as it takes
	Duration    time.Duration `json:"duration"`
	Factor      float64       `json:"factor"`
	MaxDuration time.Duration `json:"maxDuration"`
}

// maxRetries bounds retries without a limit: what has failed so often is for a person
// to look at, or for the next release to mend.
const maxRetries = 100

// Pause is how long to wait before the n-th retry, from 0; false when there is none.
func (r *Retry) Pause(n int) (time.Duration, bool) {
	if r == nil || r.Limit >= 0 && n >= r.Limit || n >= maxRetries {
		return 0, false
	}
	pause := float64(r.Duration)
	for range n {
		if pause *= r.Factor; pause > float64(r.MaxDuration) {
			break
		}
	}
	return min(time.Duration(pause), r.MaxDuration), true
}

// Value is the value of a sync option, empty when it is not set; the last one
// counts.
func (p SyncPolicy) Value(option string) (value string) {
	for _, o := range p.Options {
		if name, v, _ := strings.Cut(o, "="); name == option {
			value = v
		}
	}
	return value
}

// Has says whether a sync option is set to true: Has("CreateNamespace").
func (p SyncPolicy) Has(option string) bool { return p.Value(option) == "true" }
