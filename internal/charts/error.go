package charts

import (
	"cmp"
	"strings"
)

// Kind says what went wrong, for whoever decides what to do about it. It is an
// error itself, so that errors.Is(err, KindAuth) asks for one kind.
type Kind string

const (
	// KindURL is a URL that charts cannot come from.
	KindURL Kind = "unusable URL of charts"
	// KindAuth is a repository that wants a password, or another one.
	KindAuth Kind = "repository wants a password"
	// KindMissing is a repository, chart or version that is not there.
	KindMissing Kind = "chart not found"
	// KindRefused is what the settings do not allow to be fetched.
	KindRefused Kind = "source not allowed"
	// KindContent is a chart that is refused as it is: not what its digest says, too
	// large, or no chart.
	KindContent Kind = "chart refused"
	// KindUnavailable is temporary: the network, the server, a deadline.
	KindUnavailable Kind = "repository unavailable"
)

// Error implements error.
func (k Kind) Error() string { return string(k) }

// Error is every error that this package returns. It never holds a password.
type Error struct {
	Thing  string // what it is when it is no chart
	Kind   Kind
	Chart  string // the identity of its source
	Reason string // what is wrong and the way out
	Nearby []string
	Err    error
}

// Error implements error.
func (e *Error) Error() string {
	text := cmp.Or(e.Thing, "chart") + " " + e.Chart + ": " + e.Reason
	if len(e.Nearby) > 0 {
		text += "; nearest: " + strings.Join(e.Nearby, ", ")
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap makes the kind and the cause visible to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}
