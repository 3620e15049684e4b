// Package webhook turns what a Git host sends into a Push: the hint that a ref may have moved. Each provider has a file.
// Nothing of a request is parsed before its signature is verified, and nothing that it says is believed beyond the hint:
// what Git answers when asked is the truth.
package webhook

import (
	"errors"
	"net/http"
)

var (
	// ErrUnsigned means that the request has no valid signature of its body: the sender does not know the secret.
	ErrUnsigned = errors.New("webhook signature is not valid")
	// ErrTooLarge means that the body exceeds what is read.
	ErrTooLarge = errors.New("webhook body is too large")
	// ErrMalformed means that the sender knows the secret, but that the request is not one that its provider sends.
	ErrMalformed = errors.New("webhook is malformed")
)

// Status is the HTTP status that answers err: 401, 413 or 400 for the errors above, 200 for nil, 500 for anything else.
func Status(err error) int {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, ErrUnsigned):
		return http.StatusUnauthorized
	case errors.Is(err, ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, ErrMalformed):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// Event is one verified delivery of a provider.
type Event struct {
	// Provider is who sent it, in lower case: "github".
	Provider string
	// Name is the provider's word for what happened: "push", "ping".
	Name string
	// DeliveryID is the provider's id of this delivery; a redelivery has the same.
	DeliveryID string
	// BodyDigest is the SHA-256 of the body in hex.
	BodyDigest string
	// Push is set when a ref may have moved.
	Push *Push
	// Ignored says, when Push is nil, why nothing is to be done; it is meant for the sender's log.
	Ignored string
}

// Key identifies the delivery for a Deduper. The body is part of it because the signature does not cover the id: with
// another body, a known id is another delivery.
func (e Event) Key() string {
	return e.Provider + "/" + e.DeliveryID + "/" + e.BodyDigest
}

// Push says that a ref may have moved. It is a hint: it may be late, repeated, out of order, or about a commit that Git
// does not show yet.
type Push struct {
	// Repositories are the addresses under which the provider knows the repository, none of them normalised: whoever
	// matches them against configured ones compares identities (host and path).
	Repositories []string
	// Ref is the full name: refs/heads/… or refs/tags/….
	Ref string
	// Before and After are commit or tag object ids in lower-case hex. Before is empty when the ref was created, After
	// when it was deleted.
	Before, After string
	// Deleted says that the ref is gone.
	Deleted bool
	// DeliveryID and Event repeat the delivery's, for logs.
	DeliveryID, Event string
}
