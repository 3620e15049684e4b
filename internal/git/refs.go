package git

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/spelling"
)

var (
	fullSHA  = regexp.MustCompile(`^[0-9a-f]{40}$`)
	shortSHA = regexp.MustCompile(`^[0-9a-fA-F]{7,39}$`)
)

// Head is a revision resolved to a commit.
type Head struct {
	// Ref is the full name of what was followed, such as refs/heads/main; empty
	// when the revision was a commit itself, "HEAD" when the server's HEAD is
	// not a branch.
	Ref    string `json:"ref,omitempty"`
	Commit string `json:"commit"` // 40 lower-case hex digits
}

// Refs is everything that a repository pointed at when it was asked.
type Refs struct {
	Repository string // identity
	Default    string // the ref that HEAD means; empty in an empty repository
	// Commits holds the commit of every ref by its full name, "HEAD" included.
	// An annotated tag stands for the commit that it names.
	Commits map[string]string
}

// Resolve finds the commit that a catalog's targetRevision names, in this order:
// nothing or "HEAD" is the default branch; a full commit is itself; refs/... is
// that ref; then a branch of that name, then a tag; then, where it is a range of
// versions, the tag with the highest version in it. The error, of KindRevision,
// names the nearest refs that exist.
func (r Refs) Resolve(revision string) (Head, error) {
	if revision == "" {
		revision = "HEAD"
	}
	if head, ok := Pinned(revision); ok {
		return head, nil
	}
	for _, ref := range r.meanings(revision) {
		if commit, ok := r.Commits[ref]; ok {
			return Head{Ref: ref, Commit: commit}, nil
		}
	}
	if head, ok := r.highest(revision); ok {
		return head, nil
	}
	return Head{}, r.missing(revision)
}

// highest finds the tag with the highest version in a range. As Argo CD has it,
// tags may begin with v, and pre-releases count only when the range names one.
func (r Refs) highest(revision string) (head Head, ok bool) {
	if !gitops.MayBeRange(revision) {
		return Head{}, false
	}
	constraint, err := semver.NewConstraint(revision)
	if err != nil {
		return Head{}, false
	}
	var best *semver.Version
	for _, ref := range slices.Sorted(maps.Keys(r.Commits)) {
		tag, isTag := strings.CutPrefix(ref, "refs/tags/")
		version, err := semver.NewVersion(tag)
		if isTag && err == nil && constraint.Check(version) && (best == nil || version.GreaterThan(best)) {
			best, head, ok = version, Head{Ref: ref, Commit: r.Commits[ref]}, true
		}
	}
	return head, ok
}

// Pinned says whether a revision is a full commit, which nothing can move and no
// server need be asked about.
func Pinned(revision string) (Head, bool) {
	commit := strings.ToLower(revision)
	return Head{Commit: commit}, fullSHA.MatchString(commit)
}

func (r Refs) meanings(revision string) []string {
	switch {
	case revision == "HEAD":
		return []string{r.Default, "HEAD"}
	case strings.HasPrefix(revision, "refs/"):
		return []string{revision}
	}
	return []string{"refs/heads/" + revision, "refs/tags/" + revision, "refs/" + revision}
}

func (r Refs) missing(revision string) *Error {
	e := &Error{Kind: KindRevision, Repository: r.Repository, Attempt: "resolve " + quoteShort(revision)}
	switch {
	case len(r.Commits) == 0:
		e.Reason = "the repository is empty; push a first commit"
	case revision == "HEAD":
		e.Reason = "its HEAD names a branch that does not exist; name a branch or set the server's default branch"
	case shortSHA.MatchString(revision):
		e.Reason = "no branch or tag has this name; a commit is written with all of its 40 digits"
	case gitops.MayBeRange(revision):
		e.Reason = "no tag has a version in this range, and no branch or tag has this name"
	default:
		e.Reason = "no branch, tag or ref has this name"
	}
	e.Nearby = spelling.Closest(revision, r.shortNames(revision), nearbyCount)
	return e
}

// shortNames lists branches and tags as people write them, or full names for
// somebody who wrote one.
func (r Refs) shortNames(revision string) []string {
	var names []string
	for _, ref := range slices.Sorted(maps.Keys(r.Commits)) {
		switch name := shortName(ref); {
		case strings.HasPrefix(revision, "refs/"):
			names = append(names, ref)
		case name != ref:
			names = append(names, name)
		}
	}
	return names
}

func shortName(ref string) string {
	for _, prefix := range []string{"refs/heads/", "refs/tags/"} {
		if name, ok := strings.CutPrefix(ref, prefix); ok {
			return name
		}
	}
	return ref
}
