package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// GitHub reads the webhooks of github.com and GitHub Enterprise Server.
type GitHub struct {
	// Secret is what the webhook was created with. Without one every request is refused.
	Secret []byte
}

// githubPush is the part of GitHub's push payload that we read.
type githubPush struct {
	Ref        string `json:"ref"`
	Before     string `json:"before"`
	After      string `json:"after"`
	Deleted    bool   `json:"deleted"`
	Repository struct {
		CloneURL string `json:"clone_url"`
		SSHURL   string `json:"ssh_url"`
		GitURL   string `json:"git_url"`
		HTMLURL  string `json:"html_url"`
	} `json:"repository"`
}

// Read verifies r and says what it reports. Its errors are ErrUnsigned, ErrTooLarge and ErrMalformed. It reads the body
// to its end at most, and does not close it.
func (g GitHub) Read(r *http.Request) (Event, error) {
	event, err := g.read(r)
	if err != nil {
		return Event{}, fmt.Errorf("github: %w", err)
	}
	return event, nil
}

func (g GitHub) read(r *http.Request) (Event, error) {
	if len(g.Secret) == 0 {
		return Event{}, fmt.Errorf("%w: no secret is set here", ErrUnsigned)
	}
	signature, err := githubSignature(r.Header.Get("X-Hub-Signature-256"))
	if err != nil {
		return Event{}, err
	}
	body, err := readVerified(r, g.Secret, signature)
	if err != nil {
		return Event{}, err
	}
	event := Event{
		Provider:   "github",
		Name:       r.Header.Get("X-GitHub-Event"),
		DeliveryID: r.Header.Get("X-GitHub-Delivery"),
		BodyDigest: bodyDigest(body),
	}
	if !isToken(event.Name) || !isToken(event.DeliveryID) {
		return Event{}, fmt.Errorf("%w: X-GitHub-Event or X-GitHub-Delivery is missing or not a plain word", ErrMalformed)
	}
	switch event.Name {
	case "push":
	case "ping":
		event.Ignored = "ping: the webhook works"
		return event, nil
	default:
		event.Ignored = event.Name + " events move no ref; only push is needed"
		return event, nil
	}
	err = event.addGitHubPush(r.Header.Get("Content-Type"), body)
	return event, err
}

func githubSignature(header string) ([]byte, error) {
	if header == "" {
		return nil, fmt.Errorf("%w: X-Hub-Signature-256 is missing; set a secret in the webhook's settings", ErrUnsigned)
	}
	digits, ok := strings.CutPrefix(header, "sha256=")
	signature, err := hex.DecodeString(digits)
	if !ok || err != nil || len(signature) != sha256.Size {
		return nil, fmt.Errorf("%w: X-Hub-Signature-256 must be sha256= and 64 hex digits", ErrUnsigned)
	}
	return signature, nil
}

func (e *Event) addGitHubPush(contentType string, body []byte) error {
	payload, err := githubPayload(contentType, body)
	if err != nil {
		return err
	}
	var p githubPush
	if err := json.Unmarshal(payload, &p); err != nil {
		return fmt.Errorf("%w: push payload: %w", ErrMalformed, err)
	}
	if p.Ref != "" && !strings.HasPrefix(p.Ref, "refs/heads/") && !strings.HasPrefix(p.Ref, "refs/tags/") {
		e.Ignored = "the ref is neither a branch nor a tag"
		return nil
	}
	push, err := p.push()
	if err != nil {
		return fmt.Errorf("%w: push payload: %w", ErrMalformed, err)
	}
	push.DeliveryID, push.Event = e.DeliveryID, e.Name
	e.Push = &push
	return nil
}

// githubPayload finds the JSON in either of the content types that a webhook may be set to.
func githubPayload(contentType string, body []byte) ([]byte, error) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, fmt.Errorf("%w: content type %.60q: %w", ErrMalformed, contentType, err)
	}
	switch media {
	case "application/json":
		return body, nil
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, fmt.Errorf("%w: form: %w", ErrMalformed, err)
		}
		return []byte(form.Get("payload")), nil
	}
	return nil, fmt.Errorf("%w: content type %.60q; set the webhook to application/json", ErrMalformed, media)
}

func (p githubPush) push() (Push, error) {
	if p.Ref == "" {
		return Push{}, errors.New("it has no ref")
	}
	if !isRef(p.Ref) {
		return Push{}, fmt.Errorf("%.80q is not the name of a ref", p.Ref)
	}
	before, okBefore := objectID(p.Before)
	after, okAfter := objectID(p.After)
	if !okBefore || !okAfter {
		return Push{}, errors.New("before and after must be object ids")
	}
	urls := []string{p.Repository.CloneURL, p.Repository.SSHURL, p.Repository.GitURL, p.Repository.HTMLURL}
	urls = slices.DeleteFunc(urls, func(u string) bool { return u == "" })
	if len(urls) == 0 {
		return Push{}, errors.New("the repository has no address")
	}
	return Push{Repositories: urls, Ref: p.Ref, Before: before, After: after, Deleted: p.Deleted || after == ""}, nil
}
