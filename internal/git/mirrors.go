package git

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"golang.org/x/sync/singleflight"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Options are the settings of Mirrors. Dir is required; a zero value elsewhere
// means the default that is named.
type Options struct {
	Dir string // holds the mirrors; a cache, made when it does not exist
	// FileRoot is the folder below which file:// repositories are read; none are
	// when it is empty.
	FileRoot string
	// Credentials returns what to log in with, and whether there is anything, for
	// a repository's identity. It is asked before each connection, so a changed
	// password needs no restart. Nil means that every repository is public.
	Credentials func(identity string) (Credential, bool)
	// SSHKeys is the same for repositories over ssh.
	SSHKeys    func(identity string) (SSHKey, bool)
	KnownHosts string        // a file with the keys of ssh servers; none is connected to without
	AskTimeout time.Duration // for List and Resolve; 30 s
	// FetchTimeout bounds one fetch; 10 min.
	FetchTimeout time.Duration
	// ExportLimit is the most bytes of files in one Export; 256 MiB.
	ExportLimit int64
	// MaxPacks is how many fetches a mirror takes before it is packed anew; 50.
	MaxPacks int
	// Transport makes the HTTP requests; by default one like http.DefaultTransport.
	Transport http.RoundTripper
}

// Credential logs in to one repository: a user and a password, where most
// servers take a token as the password, or a token alone, sent as a bearer.
type Credential struct {
	Username, Password string
	Token              string
}

// String hides the credential from logs.
func (c Credential) String() string { return "[credential]" }

// GoString hides the credential from %#v.
func (c Credential) GoString() string { return c.String() }

// Mirrors reads repositories through mirrors on disk. All methods may be called
// at the same time, and several processes may share one Dir. Every error is an
// *Error.
type Mirrors struct {
	options Options
	http    transport.Transport
	flights singleflight.Group // one fetch per repository and commit

	mu      sync.Mutex
	mirrors map[string]*mirror // by identity
}

// New checks the options and makes Dir.
func New(options Options) (*Mirrors, error) {
	if options.Dir == "" {
		return nil, fmt.Errorf("open git mirrors: no folder is set")
	}
	if err := os.MkdirAll(options.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open git mirrors: %w", err)
	}
	if options.FileRoot != "" {
		root, err := filepath.Abs(options.FileRoot)
		if err == nil {
			root, err = filepath.EvalSymlinks(root)
		}
		if err != nil {
			return nil, fmt.Errorf("open git.fileRoot: %w", err)
		}
		options.FileRoot = root
	}
	options.setDefaults()
	client := githttp.NewClient(&http.Client{Transport: options.Transport})
	return &Mirrors{options: options, http: client, mirrors: map[string]*mirror{}}, nil
}

func (o *Options) setDefaults() {
	if o.AskTimeout == 0 {
		o.AskTimeout = 30 * time.Second
	}
	if o.FetchTimeout == 0 {
		o.FetchTimeout = 10 * time.Minute
	}
	if o.ExportLimit == 0 {
		o.ExportLimit = 256 << 20
	}
	if o.MaxPacks == 0 {
		o.MaxPacks = 50
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
}

func (m *Mirrors) auth(repository gitops.Repository) transport.AuthMethod {
	if m.options.Credentials == nil {
		return nil
	}
	c, ok := m.options.Credentials(repository.Identity)
	switch {
	case !ok:
		return nil
	case c.Token != "":
		return &githttp.TokenAuth{Token: c.Token}
	}
	return &githttp.BasicAuth{Username: c.Username, Password: c.Password}
}

// List asks a repository for all of its refs with one request: what a poll
// compares, and what any number of revisions can be resolved against.
func (m *Mirrors) List(ctx context.Context, url string) (Refs, error) {
	repository, err := parseURL(url)
	if err != nil {
		return Refs{}, err
	}
	from, err := m.remote(repository)
	if err != nil {
		return Refs{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, m.options.AskTimeout)
	defer cancel()
	return from.list(ctx)
}

// Resolve asks a repository which commit a catalog's targetRevision names now
// (Refs.Resolve has the rules). A full commit is answered without asking.
func (m *Mirrors) Resolve(ctx context.Context, url, revision string) (Head, error) {
	if head, ok := Pinned(revision); ok {
		_, err := parseURL(url)
		return head, err
	}
	refs, err := m.List(ctx, url)
	if err != nil {
		return Head{}, err
	}
	return refs.Resolve(revision)
}
