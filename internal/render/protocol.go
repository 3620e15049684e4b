package render

import (
	"encoding/json"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Request names a folder of a checkout and how to render it.
type Request struct {
	// Tree is the folder that the checkout was unpacked in. The renderer program
	// finds it as its working directory and never learns its name.
	Tree      string            `json:"-"`
	Path      string            `json:"path"` // in the tree, slash-separated
	Directory *gitops.Directory `json:"directory,omitempty"`
	Kustomize *gitops.Kustomize `json:"kustomize,omitempty"`
	Helm      *gitops.Helm      `json:"helm,omitempty"`
	// Plugin renders it when it is set. The renderer program never sees it; it gets
	// what the plugin has made, as Documents, and what to call that.
	Plugin    *PluginCall `json:"-"`
	Documents []byte      `json:"documents,omitempty"`
	Made      string      `json:"made,omitempty"`
	// Substitute are the values of ${NAME} in what was rendered.
	Substitute map[string]string `json:"substitute,omitempty"`
	// Refs are the folders of other checkouts, by the names that options have for
	// them: $name/file. The renderer program finds them as mounts of these names.
	Refs map[string]string `json:"-"`
	// Release is what a chart learns about where it goes. Only charts see it.
	Release Release `json:"release,omitzero"`
}

// Release is what a chart finds in .Release and .Capabilities, where its options
// do not say otherwise.
type Release struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// KubeVersion is the region's, such as v1.37.2, and APIVersions what it serves:
	// group/version and group/version/Kind. Helm's own when they are empty.
	KubeVersion string   `json:"kubeVersion,omitempty"`
	APIVersions []string `json:"apiVersions,omitempty"`
}

// Result is what was rendered, and from what.
type Result struct {
	// Objects is a JSON list of Kubernetes objects, sorted by their keys: equal
	// objects are equal bytes.
	Objects  json.RawMessage `json:"objects,omitempty"`
	Count    int             `json:"count"`
	Renderer string          `json:"renderer"` // directory, kustomize or helm; empty when it was not found out
	// Reads are the paths that the result depends on, sorted: files, folders with
	// all that is in them, links, and paths that were looked for and are not there.
	// They are set when there is an error, too: a change to one of them may mend it.
	Reads []string `json:"reads,omitempty"`
	// RefReads are the same for the checkouts in Request.Refs, by their names.
	RefReads map[string][]string `json:"refReads,omitempty"`
	// Needs are what must be fetched before it can be rendered; there is nothing else
	// then. The next request has their trees in Refs, by their names.
	Needs []gitops.Need `json:"needs,omitempty"`
	// Unstable are the calls in a chart's templates that make every render another
	// one, as file:line: function.
	Unstable []string `json:"unstable,omitempty"`
	Error    *Error   `json:"error,omitempty"`
}

// The renderers.
const (
	RendererDirectory = "directory"
	RendererKustomize = "kustomize"
	RendererHelm      = "helm"
	RendererPlugin    = "plugin"
)
