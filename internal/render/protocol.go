package render

import (
	"encoding/json"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Request is what the renderer program reads from its standard input.
type Request struct {
	Tree      string            `json:"tree"` // the folder that the checkout was unpacked in
	Path      string            `json:"path"` // in the tree, slash-separated
	Directory *gitops.Directory `json:"directory,omitempty"`
	Kustomize *gitops.Kustomize `json:"kustomize,omitempty"`
}

// Result is what the renderer program writes to its standard output.
type Result struct {
	// Objects is a JSON list of Kubernetes objects, sorted by their keys.
	Objects  json.RawMessage `json:"objects,omitempty"`
	Count    int             `json:"count"`
	Renderer string          `json:"renderer"` // directory or kustomize
	// Reads are the paths that the result depends on, sorted: files, folders with
	// all that is in them, and paths that were looked for and are not there.
	Reads []string `json:"reads,omitempty"`
	Error *Error   `json:"error,omitempty"`
}

// The renderers.
const (
	RendererDirectory = "directory"
	RendererKustomize = "kustomize"
)

// ErrorKind says what is wrong with a source.
type ErrorKind string

// The kinds of errors that a source can have.
const (
	KindPath        ErrorKind = "PathNotFound"
	KindParse       ErrorKind = "ParseError"
	KindBuild       ErrorKind = "BuildError"
	KindRemote      ErrorKind = "RemoteSource"
	KindUnsupported ErrorKind = "NotSupported"
	KindTimeout     ErrorKind = "TimedOut"
	KindTooLarge    ErrorKind = "TooLarge"
	KindCrash       ErrorKind = "Crashed"
)

// Error is a source that cannot be rendered. It does not get better by itself.
type Error struct {
	Kind    ErrorKind `json:"kind"`
	File    string    `json:"file,omitempty"` // in the tree
	Line    int       `json:"line,omitempty"`
	Message string    `json:"message"` // what is wrong and the way out
}
