package gitops

import (
	"slices"
	"strings"
)

// Helm holds the options of spec.source.helm that are supported. What a later
// field sets wins, as in Argo CD: the chart's own values, ValueFiles in their
// order, Values, Parameters, FileParameters.
type Helm struct {
	ReleaseName string `json:"releaseName,omitempty"` // the Application's name when it is empty
	// ValueFiles are relative to the chart, to the repository's root when they begin
	// with a slash, or to the root of another source when they begin with $name/. They may be patterns, in which ** crosses folders.
	ValueFiles              []string `json:"valueFiles,omitempty"`
	IgnoreMissingValueFiles bool     `json:"ignoreMissingValueFiles,omitempty"`
	// Values is the YAML text of valuesObject, or of values where there is none.
	Values         string              `json:"values,omitempty"`
	Parameters     []HelmParameter     `json:"parameters,omitempty"`
	FileParameters []HelmFileParameter `json:"fileParameters,omitempty"`
	// SkipCRDs leaves out what is in the chart's folder crds.
	SkipCRDs             bool     `json:"skipCrds,omitempty"`
	SkipSchemaValidation bool     `json:"skipSchemaValidation,omitempty"`
	Namespace            string   `json:"namespace,omitempty"` // .Release.Namespace; the target's when it is empty
	KubeVersion          string   `json:"kubeVersion,omitempty"`
	APIVersions          []string `json:"apiVersions,omitempty"`
}

// IsZero says whether the options change nothing.
func (h Helm) IsZero() bool {
	return h.ReleaseName == "" && len(h.ValueFiles) == 0 && h.Values == "" && len(h.Parameters) == 0 && len(h.FileParameters) == 0 &&
		!h.IgnoreMissingValueFiles && !h.SkipCRDs && !h.SkipSchemaValidation && h.Namespace == "" && h.KubeVersion == "" && len(h.APIVersions) == 0
}

// Files are the files that the options name.
func (h Helm) Files() []string {
	files := slices.Clone(h.ValueFiles)
	for _, p := range h.FileParameters {
		files = append(files, p.Path)
	}
	return files
}

// RefOf is the name in a path of the form $name/file: a file of another source of
// the same Application. Names of the build environment are none of them.
func RefOf(file string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(file, "$")
	name, _, found := strings.Cut(rest, "/")
	return name, ok && found && name != "" && !strings.ContainsAny(name, "{}") && !strings.HasPrefix(name, "ARGOCD_") && !strings.HasPrefix(name, "TIDEGATE_")
}

// HelmParameter sets one value, in the notation of helm's --set.
type HelmParameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// ForceString keeps "true" and "1" what they are: strings.
	ForceString bool `json:"forceString,omitempty"`
}

// HelmFileParameter sets one value to the content of a file.
type HelmFileParameter struct {
	Name string `json:"name"`
	Path string `json:"path"` // like one of ValueFiles
}
