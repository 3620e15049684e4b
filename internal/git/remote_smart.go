package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/tidegate/tidegate/internal/gitops"
)

// maxHaves bounds how many commits of the mirror a server is told about.
const maxHaves = 8

// errRefused marks a request that a server understood and does not carry out.
var errRefused = errors.New("the server refuses the request")

// smartRemote speaks Git's smart protocol, over HTTP or ssh.
type smartRemote struct {
	identity string
	endpoint *transport.Endpoint
	client   transport.Transport
	auth     transport.AuthMethod // nil without credentials
}

func newHTTPRemote(m *Mirrors, repository gitops.Repository) (*smartRemote, error) {
	endpoint, err := transport.NewEndpoint(repository.Dial)
	if err != nil {
		return nil, &Error{Kind: KindURL, Repository: repository.Identity, Attempt: "connect", Reason: "the URL cannot be dialled"}
	}
	return &smartRemote{identity: repository.Identity, endpoint: endpoint, client: m.http, auth: m.auth(repository)}, nil
}

func (r *smartRemote) advertised(ctx context.Context) (transport.UploadPackSession, *packp.AdvRefs, error) {
	session, err := r.client.NewUploadPackSession(r.endpoint, r.auth)
	if err != nil {
		return nil, nil, err
	}
	adv, err := session.AdvertisedReferencesContext(ctx)
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return session, packp.NewAdvRefs(), nil
	}
	return session, adv, err
}

func (r *smartRemote) list(ctx context.Context) (Refs, error) {
	_, adv, err := r.advertised(ctx)
	if err != nil {
		return Refs{}, r.explain(ctx, "list refs", err)
	}
	refs := Refs{Repository: r.identity, Commits: make(map[string]string, len(adv.References)+1)}
	for name, hash := range adv.References {
		refs.Commits[name] = hash.String()
	}
	for name, hash := range adv.Peeled {
		refs.Commits[name] = hash.String()
	}
	if adv.Head == nil {
		return refs, nil
	}
	refs.Commits["HEAD"] = adv.Head.String()
	refs.Default = "HEAD"
	if all, err := adv.AllReferences(); err == nil && all["HEAD"] != nil {
		refs.Default = all["HEAD"].Target().String()
	}
	return refs, nil
}

// fetch asks for as little as possible first. A server may refuse a commit that
// no ref names, or stumble over what we say we have: then it is asked for the
// history of the ref, and last for all branches and tags.
func (r *smartRemote) fetch(ctx context.Context, into *filesystem.Storage, head Head) error {
	commit := plumbing.NewHash(head.Commit)
	plans := []func(*packp.AdvRefs) *packp.UploadPackRequest{
		func(adv *packp.AdvRefs) *packp.UploadPackRequest {
			return shallowRequest(adv, commit, newestShallow(into, maxHaves))
		},
		func(adv *packp.AdvRefs) *packp.UploadPackRequest { return shallowRequest(adv, commit, nil) },
		func(adv *packp.AdvRefs) *packp.UploadPackRequest { return historyRequest(adv, head.Ref) },
		func(adv *packp.AdvRefs) *packp.UploadPackRequest { return historyRequest(adv, "") },
	}
	last := errNotOffered
	for i, plan := range plans {
		// Every attempt starts from what the server shows now: a ref may have
		// moved between its two requests.
		session, adv, err := r.advertised(ctx)
		if err != nil {
			return r.explain(ctx, "fetch", err)
		}
		request := plan(adv)
		if request == nil {
			continue
		}
		err = receive(ctx, session, request, into)
		switch {
		case err == nil && into.HasEncodedObject(commit) == nil:
			return nil
		case errors.Is(err, errRefused):
			last = err
		case err != nil && (i > 0 || ctx.Err() != nil): // it broke off: a bigger request is no cure
			return r.explain(ctx, "fetch", err)
		}
	}
	return &Error{
		Kind: KindRevision, Repository: r.identity, Attempt: "fetch " + head.Commit, Err: last,
		Reason: "the commit did not arrive; if it was replaced by a force-push, use the branch's present commit",
	}
}

// shallowRequest asks for one commit without its history, or is nil when the
// server would refuse.
func shallowRequest(adv *packp.AdvRefs, commit plumbing.Hash, haves []plumbing.Hash) *packp.UploadPackRequest {
	want, offered := offeredAs(adv, commit)
	if !offered && !adv.Capabilities.Supports(capability.AllowReachableSHA1InWant) {
		return nil
	}
	if !adv.Capabilities.Supports(capability.Shallow) {
		return nil
	}
	request := newRequest(adv, want)
	if request.Capabilities.Set(capability.Shallow) != nil {
		return nil
	}
	request.Depth = packp.DepthCommits(1)
	if len(haves) > 0 {
		// Without thin-pack a server does not look at what we have when history
		// is cut off: it would send the whole tree for every push.
		if request.Capabilities.Set(capability.ThinPack) != nil {
			return nil
		}
		request.Haves, request.Shallows = haves, slices.Clone(haves)
	}
	return request
}

// offeredAs returns what to ask for to get a commit: a tag object stands for the
// commit that it names.
func offeredAs(adv *packp.AdvRefs, commit plumbing.Hash) (want plumbing.Hash, offered bool) {
	if adv.Head != nil && *adv.Head == commit {
		return commit, true
	}
	for name, hash := range adv.References {
		if hash == commit || adv.Peeled[name] == commit {
			return hash, true
		}
	}
	return commit, false
}

// historyRequest asks for everything below one ref, or below all branches and
// tags when none is named.
func historyRequest(adv *packp.AdvRefs, ref string) *packp.UploadPackRequest {
	var wants []plumbing.Hash
	for name, hash := range adv.References {
		if name == ref || ref == "" && shortName(name) != name {
			wants = append(wants, hash)
		}
	}
	if len(wants) == 0 {
		return nil
	}
	return newRequest(adv, wants...)
}

func newRequest(adv *packp.AdvRefs, wants ...plumbing.Hash) *packp.UploadPackRequest {
	request := packp.NewUploadPackRequestFromCapabilities(adv.Capabilities)
	request.Wants = wants
	return request
}

func receive(ctx context.Context, session transport.UploadPackSession, request *packp.UploadPackRequest, into *filesystem.Storage) (err error) {
	response, err := session.UploadPack(ctx, request)
	if err != nil {
		var dial *url.Error
		if errors.As(inner(err), &dial) || statusCode(err) != 0 {
			return err
		}
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	defer func() { err = errors.Join(err, response.Close()) }()
	var pack io.Reader = response
	switch {
	case request.Capabilities.Supports(capability.Sideband64k):
		pack = sideband.NewDemuxer(sideband.Sideband64k, response)
	case request.Capabilities.Supports(capability.Sideband):
		pack = sideband.NewDemuxer(sideband.Sideband, response)
	}
	if len(request.Haves) > 0 {
		return receiveThin(into, pack)
	}
	return packfile.UpdateObjectStorage(into, pack)
}

// explain turns a transport's error into one of ours, without its text where
// that might repeat what the server, or a proxy, answered.
func (r *smartRemote) explain(ctx context.Context, attempt string, err error) error {
	if ctx.Err() != nil {
		return interrupted(ctx, r.identity, attempt)
	}
	e := &Error{Repository: r.identity, Attempt: attempt}
	code := statusCode(err)
	var dial *url.Error
	ssh := explainSSH(inner(err))
	switch {
	case ssh != "":
		e.Kind, e.Reason = KindAuth, ssh
	case errors.Is(err, transport.ErrAuthenticationRequired) && r.auth == nil:
		e.Kind, e.Reason = KindAuth, "the repository wants a password, or does not exist; add "+r.identity+" to git.credentials"
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		e.Kind, e.Reason = KindAuth, "the server refuses access; correct the entry of "+r.identity+" in git.credentials"
	case errors.Is(err, transport.ErrRepositoryNotFound), code == http.StatusGone:
		e.Kind, e.Reason = KindRepository, "the server has no such repository; correct its URL, or add it to git.credentials if it is private"
	case code != 0:
		e.Kind, e.Reason = KindUnavailable, "the server answered "+http.StatusText(code)
	case errors.As(inner(err), &dial):
		e.Kind, e.Err = KindUnavailable, dial.Err // without the URL
	default:
		e.Kind, e.Reason, e.Err = KindUnavailable, "the answer broke off, or is not Git's; is the URL that of a repository?", err
	}
	return e
}

// inner opens go-git's wrapper, which errors.As does not see through.
func inner(err error) error {
	var unexpected *plumbing.UnexpectedError
	if errors.As(err, &unexpected) {
		return unexpected.Err
	}
	return err
}

func statusCode(err error) int {
	var answered *githttp.Err
	if errors.As(inner(err), &answered) {
		return answered.StatusCode()
	}
	return 0
}
