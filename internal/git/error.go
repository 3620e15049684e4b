package git

import (
	"context"
	"errors"
	"strings"
)

// Kind says what went wrong, for whoever decides what to do about it. It is an
// error itself, so that errors.Is(err, KindAuth) asks for one kind.
type Kind string

const (
	// KindURL is a URL that is not one of a repository, or not of one that may be read.
	KindURL Kind = "unusable repository URL"
	// KindRepository is a repository that the server does not have or does not show.
	KindRepository Kind = "repository not found"
	// KindAuth is a repository that wants a password, or another one.
	KindAuth Kind = "repository wants a password"
	// KindRevision is a branch, tag or commit that the repository does not have.
	// It may appear: a webhook can be faster than the server's own replicas.
	KindRevision Kind = "revision not found"
	// KindPath is a file or folder that the commit does not have.
	KindPath Kind = "path not found"
	// KindContent is a tree that is refused as it is: a link out of it, a name
	// that no file can have, more bytes than the limit.
	KindContent Kind = "content refused"
	// KindSignature is a commit that nobody has signed whose signature counts.
	KindSignature Kind = "signature missing"
	// KindUnavailable is temporary: the network, the server, the disk, a deadline.
	KindUnavailable Kind = "repository unavailable"
	// KindDamaged is a mirror that was still unreadable after it was fetched anew.
	KindDamaged Kind = "mirror damaged"
)

// Error implements error.
func (k Kind) Error() string { return string(k) }

const nearbyCount = 5 // names in Error.Nearby, at most

// Error is every error that this package returns. It never holds a password: the
// repository is named by its identity.
type Error struct {
	Kind       Kind
	Repository string // identity; empty when the URL has none
	Attempt    string // what was tried, as in "resolve main"
	Reason     string // what is wrong and the way out
	// Nearby are names that exist, nearest first, where a name was not found.
	Nearby []string
	// Err is the cause, where there is one that says more.
	Err error
}

// Error implements error: "attempt of repository: reason: cause".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Attempt)
	if e.Repository != "" {
		b.WriteString(" of " + e.Repository)
	}
	if e.Reason != "" {
		b.WriteString(": " + e.Reason)
	}
	if len(e.Nearby) > 0 {
		b.WriteString("; nearest: " + strings.Join(e.Nearby, ", "))
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap makes the kind and the cause visible to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// KindOf returns the kind of an error of this package, or "" for any other.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// interrupted describes a context that ended. Both an operation's own deadline
// and the caller's end are temporary: the same call may be made again.
func interrupted(ctx context.Context, repository, attempt string) *Error {
	reason := "the caller gave up"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		reason = "no answer in time"
	}
	return &Error{Kind: KindUnavailable, Repository: repository, Attempt: attempt, Reason: reason, Err: ctx.Err()}
}
