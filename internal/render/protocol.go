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
}

// Result is what was rendered, and from what.
type Result struct {
	// Objects is a JSON list of Kubernetes objects, sorted by their keys: equal
	// objects are equal bytes.
	Objects  json.RawMessage `json:"objects,omitempty"`
	Count    int             `json:"count"`
	Renderer string          `json:"renderer"` // directory or kustomize; empty when it was not found out
	// Reads are the paths that the result depends on, sorted: files, folders with
	// all that is in them, links, and paths that were looked for and are not there.
	// They are set when there is an error, too: a change to one of them may mend it.
	Reads []string `json:"reads,omitempty"`
	Error *Error   `json:"error,omitempty"`
}

// The renderers.
const (
	RendererDirectory = "directory"
	RendererKustomize = "kustomize"
)
