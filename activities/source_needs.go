package activities

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"go.temporal.io/sdk/temporal"

	"github.com/tidegate/tidegate/internal/charts"
	"github.com/tidegate/tidegate/internal/git"
	"github.com/tidegate/tidegate/internal/gitops"
)

// JobNeed is something that one render needs.
type JobNeed struct {
	Job string `json:"job"` // of RenderResult
	gitops.Need
}

// Provided is the tree of a need, and what its revision meant when it was fetched.
type Provided struct {
	JobNeed
	Commit string `json:"commit"`
	Digest string `json:"digest"`
}

// ProvideInput is what renders have asked for.
type ProvideInput struct {
	Needs []JobNeed `json:"needs"`
}

// ProvideResult has a tree for each need, in their order.
type ProvideResult struct {
	Provided []Provided `json:"provided"`
}

// Provide fetches what manifests refer to outside of their sources. What a branch
// or range means is found out once, here: the renders that follow use just that.
func (s *Source) Provide(ctx context.Context, in ProvideInput) (ProvideResult, error) {
	defer beat(ctx)()
	var result ProvideResult
	fetched := map[gitops.Need]Checkout{}
	for _, need := range in.Needs {
		c, known := fetched[need.Need]
		if !known {
			var err error
			if c, err = s.provide(ctx, need.Need); err != nil {
				return result, classifyNeed(need.Need, err)
			}
			fetched[need.Need] = c
		}
		result.Provided = append(result.Provided, Provided{JobNeed: need, Commit: c.Commit, Digest: c.Digest})
	}
	return result, nil
}

// classifyNeed is classify, but what is wrong with a reference is not tried again:
// a push mends it.
func classifyNeed(need gitops.Need, err error) error {
	if !isUserError(err) {
		return classify(err)
	}
	kind, _ := classOf(err)
	return temporal.NewNonRetryableApplicationError(clip(fmt.Sprintf("fetch %s, which the manifests refer to: %v", need, err)), kind, nil)
}

// mayProvide is where a need is fetched from, if it may be.
func (s *Source) mayProvide(need gitops.Need) (SourceAt, error) {
	at, err := placeOf(need)
	if err != nil {
		return at, err
	}
	if s.MayFetch == nil || !s.MayFetch(strings.ReplaceAll(at.Repository, "#", "/")) {
		return at, &charts.Error{
			Thing: string(need.Kind), Kind: charts.KindRefused, Chart: need.String(),
			Reason: "manifests refer to it, and git.remoteSources in the settings does not allow it; add " + at.Repository + " or what it begins with",
		}
	}
	return at, nil
}

func (s *Source) provide(ctx context.Context, need gitops.Need) (Checkout, error) {
	at, err := s.mayProvide(need)
	if err != nil {
		return Checkout{}, err
	}
	switch need.Kind {
	case gitops.NeedFile:
		return s.provideFile(ctx, at)
	case gitops.NeedChart:
		at.Commit, err = s.version(ctx, at)
	default:
		var head git.Head
		head, err = s.Mirrors.Resolve(ctx, at.RepoURL, at.Revision)
		at.Commit = head.Commit
		if err == nil {
			err = s.Mirrors.Fetch(ctx, at.RepoURL, head)
		}
	}
	if err != nil {
		return Checkout{}, err
	}
	return s.checkOut(ctx, at)
}

// provideFile keeps a file as a tree of its own. Its digest is its version.
func (s *Source) provideFile(ctx context.Context, at SourceAt) (Checkout, error) {
	tree, err := s.Charts.File(ctx, at.RepoURL, gitops.NeedContent)
	if err != nil {
		return Checkout{}, err
	}
	digest, err := s.Blobs.Put(ctx, "checkout", tree)
	if err != nil {
		return Checkout{}, fmt.Errorf("keep %s: %w", at.Repository, err)
	}
	return Checkout{Ref: at.Ref, Commit: digest, Digest: digest}, nil
}

// placeOf is where a need is fetched from.
func placeOf(need gitops.Need) (SourceAt, error) {
	at := SourceAt{RepoURL: need.URL, Chart: need.Chart, Ref: gitops.Ref{Revision: need.Revision}}
	var err error
	switch need.Kind {
	case gitops.NeedGit:
		at.Repository, err = gitops.RepositoryIdentity(need.URL)
	case gitops.NeedChart:
		var source gitops.ChartSource
		source, err = gitops.ParseChartSource(need.URL, need.Chart)
		at.Repository = source.Identity
	case gitops.NeedFile:
		at.Repository, err = fileIdentity(need.URL)
	default:
		err = fmt.Errorf("%q is fetched in no way that this worker knows; is it older than the one that renders?", need.Kind)
	}
	if err != nil {
		return at, &charts.Error{Thing: string(need.Kind), Kind: charts.KindURL, Chart: need.String(), Reason: err.Error()}
	}
	return at, nil
}

func fileIdentity(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return "", errors.New("it is not the URL of a file; write it as https://host/path, without a password")
	}
	return strings.ToLower(u.Host) + strings.TrimRight(u.Path, "/"), nil
}
