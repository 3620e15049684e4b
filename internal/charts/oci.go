package charts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/tidegate/tidegate/internal/gitops"
)

// chartLayer is the media type of a chart's archive in a registry, as Helm has it.
const chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

const maxManifest = 4 << 20

func (c *Client) repository(source gitops.ChartSource) (*remote.Repository, error) {
	r, err := remote.NewRepository(source.Repository)
	if err != nil {
		return nil, &Error{Kind: KindURL, Chart: source.Identity, Reason: "it is no name in a registry", Err: err}
	}
	r.PlainHTTP = isLoopback(r.Reference.Registry)
	r.Client = &auth.Client{Client: c.http, Cache: auth.NewCache(), Credential: func(_ context.Context, hostport string) (auth.Credential, error) {
		credential, ok := c.options.Credentials(source.Identity)
		if !ok || hostport != r.Reference.Host() {
			return auth.EmptyCredential, nil
		}
		return auth.Credential{Username: credential.Username, Password: credential.Password}, nil
	}}
	return r, nil
}

// isLoopback says whether a registry is on this machine, where nobody has a
// certificate for it.
func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// resolveOCI finds the tag that a revision means, and its digest. A tag cannot
// have a +, so that registries have a _ in its place.
func (c *Client) resolveOCI(ctx context.Context, source gitops.ChartSource, revision string) (Version, error) {
	r, err := c.repository(source)
	if err != nil {
		return Version{}, err
	}
	ctx = withNamed(ctx, r.Reference.Host())
	version := revision
	if !IsExact(revision) {
		var versions []string
		err := r.Tags(ctx, "", func(tags []string) error {
			for _, tag := range tags {
				versions = append(versions, strings.ReplaceAll(tag, "_", "+"))
			}
			return nil
		})
		if err != nil {
			return Version{}, explainOCI(source, "list its versions", err)
		}
		if version, err = choose(source, revision, versions); err != nil {
			return Version{}, err
		}
	}
	found, err := r.Resolve(ctx, strings.ReplaceAll(version, "+", "_"))
	if err != nil {
		return Version{}, explainOCI(source, "find version "+version, err)
	}
	return Version{version, found.Digest.String()}, nil
}

// pullOCI returns the archive of a chart. The library holds every answer against
// its digest.
func (c *Client) pullOCI(ctx context.Context, source gitops.ChartSource, version Version) ([]byte, error) {
	r, err := c.repository(source)
	if err != nil {
		return nil, err
	}
	ctx = withNamed(ctx, r.Reference.Host())
	described, err := r.Resolve(ctx, version.Digest)
	if err != nil {
		return nil, explainOCI(source, "find version "+version.Version, err)
	}
	text, err := fetch(ctx, r, described, maxManifest)
	if err != nil {
		return nil, explainOCI(source, "read the manifest of version "+version.Version, err)
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, &Error{Kind: KindContent, Chart: source.Identity, Reason: "its manifest cannot be read", Err: err}
	}
	for _, layer := range manifest.Layers {
		if layer.MediaType != chartLayer {
			continue
		}
		archive, err := fetch(ctx, r, layer, maxChart)
		if err != nil {
			return nil, explainOCI(source, "read the content of version "+version.Version, err)
		}
		return archive, nil
	}
	return nil, &Error{Kind: KindContent, Chart: source.Identity, Reason: fmt.Sprintf("version %s is no Helm chart: no layer is of type %s", version.Version, chartLayer)}
}

var errTooLarge = errors.New("it is too large")

func fetch(ctx context.Context, r *remote.Repository, d ocispec.Descriptor, limit int64) (_ []byte, err error) {
	if d.Size > limit {
		return nil, fmt.Errorf("%w: more than %d MiB", errTooLarge, limit>>20)
	}
	body, err := r.Fetch(ctx, d)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	return content.ReadAll(io.LimitReader(body, limit), d)
}

func explainOCI(source gitops.ChartSource, attempt string, err error) error {
	e := &Error{Kind: KindUnavailable, Chart: source.Identity, Reason: attempt, Err: withoutURL(err)}
	var response *errcode.ErrorResponse
	switch {
	case errors.Is(err, errdef.ErrNotFound):
		e.Kind, e.Reason, e.Err = KindMissing, attempt+": the registry does not have it", nil
	case errors.Is(err, content.ErrMismatchedDigest), errors.Is(err, content.ErrTrailingData), errors.Is(err, errTooLarge):
		e.Kind = KindContent
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		e.Kind, e.Reason, e.Err = KindAuth, attempt+": the registry wants a password; write it into the settings' git.credentials", nil
	case errors.As(err, &response):
		e.Err = nil
		switch response.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			e.Kind, e.Reason = KindAuth, attempt+": the registry wants a password, or another one; write it into the settings' git.credentials"
		case http.StatusNotFound:
			e.Kind, e.Reason = KindMissing, attempt+": the registry does not have it"
		default:
			e.Reason = fmt.Sprintf("%s: the registry answers %d", attempt, response.StatusCode)
		}
	}
	return e
}
