package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

var (
	// ErrUnreachable means that the region has not answered for some seconds.
	ErrUnreachable = errors.New("region does not answer")
	// ErrFenced means that a newer rollout or attempt has taken the target over:
	// whoever sees this must stop, and not come back.
	ErrFenced = errors.New("another rollout or attempt has taken this target over")
	// ErrRefused means that a plan would do what it must not, such as taking an
	// object that is not ours.
	ErrRefused = errors.New("refused")
	// ErrForbidden means that the region does not let us in, or not do this.
	ErrForbidden = errors.New("forbidden by the region")
)

// errSilent is the cause of a request's cancellation when its region has gone
// silent.
var errSilent = errors.New("no answer")

// errMoved means that an object is not the one that was expected: it was changed,
// deleted or made anew by somebody else.
var errMoved = errors.New("it was changed by somebody else")

// severity says what to do about a failed request.
type severity int

const (
	final   severity = iota // it would fail again
	passing                 // it may pass: throttled, conflict, server error
	down                    // there was no answer
)

func severityOf(err error) severity {
	var status apierrors.APIStatus
	if errors.Is(err, errMoved) || errors.Is(err, errStale) {
		return final
	}
	if !errors.As(err, &status) {
		return down
	}
	switch code := status.Status().Code; {
	case apierrors.IsTooManyRequests(err), apierrors.IsConflict(err), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return passing
	case breaksSchema(err):
		return final
	case code >= 500:
		return passing
	default:
		return final
	}
}

// passes says whether an error may pass.
func passes(err error) bool {
	var status apierrors.APIStatus
	if errors.Is(err, ErrUnreachable) || errors.Is(err, ErrFenced) {
		return false
	}
	return errors.As(err, &status) && severityOf(err) == passing || isConnection(err)
}

// isConnection says whether a request had no answer at all.
func isConnection(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, errSilent) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// breaksSchema says whether an apply has a field that its kind has not, or an item
// twice. Servers call that an internal error of theirs.
func breaksSchema(err error) bool {
	return strings.Contains(err.Error(), "failed to create typed patch object")
}

// isUnserved says whether the server knows no such resource, rather than no such
// object: its kind is not served yet, or no longer.
func isUnserved(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	d := status.Status().Details
	return d == nil || d.Name == ""
}

// typed gives a failed request the type that callers tell apart.
func (r *Region) typed(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w: %w", ErrForbidden, err)
	default:
		return err
	}
}

// issue is a failed object in words for people: the server's own, without a
// Secret's values.
func issue(o PlannedObject, err error) gitops.ObjectIssue {
	message := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		message = status.Status().Message
		if reason := status.Status().Reason; reason != "" {
			message = string(reason) + ": " + message
		}
	}
	if o.Key.Group == "" && o.Key.Kind == "Secret" && len(o.Content) > 0 {
		var content map[string]any
		if json.Unmarshal(o.Content, &content) != nil {
			message = manifest.Redacted // what it is cannot be told
		}
		message = manifest.RedactMessage(content, message)
	}
	if apierrors.IsInvalid(err) && isImmutable(message) {
		message += "; the sync option Force=true deletes the object and makes it anew then"
	}
	health := gitops.Missing
	if o.UID != "" {
		health = "" // it is there, as it was
	}
	return gitops.ObjectIssue{Object: o.Key.String(), Health: health, Message: clip(message)}
}

// isImmutable says whether a server refuses to change a field at all. There is no
// reason of its own for that.
func isImmutable(message string) bool {
	return strings.Contains(message, "immutable") || strings.Contains(message, "may not change") || strings.Contains(message, "updates to ")
}

// clip bounds a message: some servers repeat the whole object.
func clip(s string) string {
	const limit = 600
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + " …"
}
