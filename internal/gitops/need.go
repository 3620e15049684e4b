package gitops

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Need is something outside of a source that its manifests refer to: a render,
// which has no network, asks for it and is done again with it.
type Need struct {
	Kind NeedKind `json:"kind"`
	// URL is that of a Git repository, of a repository of charts, or of a file.
	URL string `json:"url"`
	// Revision is a branch, tag, commit or range of a Git repository, or a version
	// or range of a chart; what it means is found out when the render asks.
	Revision string `json:"revision,omitempty"`
	Chart    string `json:"chart,omitempty"`
}

// NeedKind says how a Need is fetched.
type NeedKind string

// The kinds of needs.
const (
	NeedGit   NeedKind = "git"
	NeedChart NeedKind = "chart"
	NeedFile  NeedKind = "file" // one file, over HTTP
)

// NeedContent is the name of the file in the tree of a Need of the kind NeedFile.
const NeedContent = "content"

// needPrefix begins the names of needs. With its dot no source can have it.
const needPrefix = "need."

// Name is what the need's tree is mounted as. Equal needs have equal names.
func (n Need) Name() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{string(n.Kind), n.URL, n.Revision, n.Chart}, "\x00")))
	return needPrefix + hex.EncodeToString(sum[:12])
}

// IsNeed says whether a mount has the tree of a Need.
func IsNeed(name string) bool { return strings.HasPrefix(name, needPrefix) }

// String is what people read of it.
func (n Need) String() string {
	switch n.Kind {
	case NeedChart:
		return "chart " + n.Chart + " " + n.Revision + " of " + n.URL
	case NeedGit:
		return n.URL + "@" + n.Revision
	default:
		return n.URL
	}
}
