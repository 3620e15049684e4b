package gitops

import "strings"

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
}

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
}

// Kustomize holds the options of spec.source.kustomize that are supported.
type Kustomize struct {
	NamePrefix string   `json:"namePrefix,omitempty"`
	NameSuffix string   `json:"nameSuffix,omitempty"`
	Images     []string `json:"images,omitempty"` // Argo CD's form: [old=]image[:tag|@digest]
	Namespace  string   `json:"namespace,omitempty"`
}

// Target is one generated Application: sources, a region, a namespace.
type Target struct {
	Name       string            `json:"name"`
	Project    string            `json:"project"`
	Region     string            `json:"region"`
	Namespace  string            `json:"namespace"`
	Labels     map[string]string `json:"labels,omitempty"`
	Source     Source            `json:"source"`
	SyncPolicy SyncPolicy        `json:"syncPolicy"`
	// Finalizer says that retiring the Application deletes its objects (Argo CD's
	// resources-finalizer); without it they stay.
	Finalizer bool `json:"finalizer,omitempty"`
}

// SyncPolicy is Argo CD's spec.syncPolicy as far as it is supported.
type SyncPolicy struct {
	// Automated says that a new release is delivered without being asked for. A
	// target without it stays OutOfSync until somebody syncs or approves.
	Automated  bool `json:"automated,omitempty"`
	Prune      bool `json:"prune,omitempty"`
	SelfHeal   bool `json:"selfHeal,omitempty"`
	AllowEmpty bool `json:"allowEmpty,omitempty"`
	// Options are Argo CD's syncOptions, such as CreateNamespace=true.
	Options []string `json:"options,omitempty"`
	// NamespaceLabels and NamespaceAnnotations are managedNamespaceMetadata.
	NamespaceLabels      map[string]string `json:"namespaceLabels,omitempty"`
	NamespaceAnnotations map[string]string `json:"namespaceAnnotations,omitempty"`
}

// Has says whether a sync option is set to true: Has("CreateNamespace").
func (p SyncPolicy) Has(option string) bool {
	for _, o := range p.Options {
		if name, value, _ := strings.Cut(o, "="); name == option {
			return value == "true"
		}
	}
	return false
}
