package charts

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Credential is what a repository is told about who asks.
type Credential struct{ Username, Password string }

// Options of a Client. The zero value asks everybody without a password.
type Options struct {
	// Credentials finds a password for what an identity begins with:
	// host[:port]/path.
	Credentials func(identity string) (Credential, bool)
}

// Limits of what is read from elsewhere.
const (
	maxIndex     = 64 << 20
	maxChart     = 32 << 20
	maxRedirects = 5
	callTimeout  = 30 * time.Second // of one request with its answer
)

// Client resolves and pulls charts. It remembers the indexes of repositories as
// long as they do not change.
type Client struct {
	options Options
	http    *http.Client

	mu      sync.Mutex
	indexes map[string]index
}

// New returns a Client.
func New(options Options) *Client {
	if options.Credentials == nil {
		options.Credentials = func(string) (Credential, bool) { return Credential{}, false }
	}
	return &Client{options: options, http: newHTTP(), indexes: map[string]index{}}
}

// Version is one version of a chart, pinned by its content.
type Version struct {
	Version string
	Digest  string // sha256:…: of a registry's manifest, of a Helm repository's archive
}

// String is version@digest; ParseVersion reads it.
func (v Version) String() string { return v.Version + "@" + v.Digest }

// ParseVersion reads what String wrote.
func ParseVersion(text string) (Version, error) {
	version, digest, ok := strings.Cut(text, "@")
	if !ok || !strings.HasPrefix(digest, "sha256:") {
		return Version{}, fmt.Errorf("%q is no version of a chart", text)
	}
	return Version{version, digest}, nil
}

// Resolve finds the version that a revision means: a version, a range of versions
// (the highest in it counts), or a digest in a registry.
func (c *Client) Resolve(ctx context.Context, source gitops.ChartSource, revision string) (Version, error) {
	if source.OCI {
		return c.resolveOCI(ctx, source, revision)
	}
	return c.resolveIndexed(ctx, source, revision)
}

// Pull returns a version's files as a tar archive, whose bytes depend on nothing
// else. Chart.yaml is at its root.
func (c *Client) Pull(ctx context.Context, source gitops.ChartSource, version Version) ([]byte, error) {
	var archive []byte
	var err error
	if source.OCI {
		archive, err = c.pullOCI(ctx, source, version)
	} else {
		archive, err = c.pullIndexed(ctx, source, version)
	}
	if err != nil {
		return nil, err
	}
	tree, err := repack(archive)
	if err != nil {
		return nil, &Error{Kind: KindContent, Chart: source.Identity, Reason: fmt.Sprintf("version %s is no chart that can be used", version.Version), Err: err}
	}
	return tree, nil
}
