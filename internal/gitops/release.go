package gitops

import (
	"strings"
	"time"
)

// Release is one rendered bundle per target. It is immutable, numbered within
// its Delivery, and what a rollback goes back to.
type Release struct {
	Number int `json:"number"`
	// Spec is the digest of the Delivery that it was made from.
	Spec    string           `json:"spec"`
	Sources []ResolvedSource `json:"sources"`
	Bundles []Bundle         `json:"bundles"`
	// Revisions notes later revisions that rendered to the very same bundles.
	Revisions []string  `json:"revisions,omitempty"`
	Created   time.Time `json:"created"`
}

// Revision is the commit to show to people: the first source's newest one.
func (r Release) Revision() string {
	if n := len(r.Revisions); n > 0 {
		return r.Revisions[n-1]
	}
	if len(r.Sources) > 0 {
		return r.Sources[0].Commit
	}
	return ""
}

// shortCommit is how many digits of a commit people read.
const shortCommit = 7

// ShortRevision is what people read of a commit, or of a chart's version@digest.
func ShortRevision(revision string) string {
	if version, _, isChart := strings.Cut(revision, "@"); isChart {
		return version
	}
	return revision[:min(len(revision), shortCommit)]
}

// Bundle returns the bundle of a target.
func (r Release) Bundle(target string) (Bundle, bool) {
	for _, b := range r.Bundles {
		if b.Target == target {
			return b, true
		}
	}
	return Bundle{}, false
}

// ResolvedSource is a ref with the commit that Git showed for it.
type ResolvedSource struct {
	Ref
	Commit string `json:"commit"`
}

// Bundle points at the rendered objects of one target.
type Bundle struct {
	Target  string `json:"target"`
	Digest  string `json:"digest"` // of the artifact; equal content has equal digest
	Objects int    `json:"objects"`
	// Unstable are the calls in charts that make every render another one, as
	// file:line: function.
	Unstable []string `json:"unstable,omitempty"`
}
