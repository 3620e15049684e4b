package charts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/spelling"
)

// index is what a Helm repository offers.
type index struct {
	etag    string
	entries map[string][]entry
}

// entry is one version of a chart.
type entry struct {
	Version string   `json:"version"`
	Digest  string   `json:"digest"` // sha256 of the archive, in hex; older repositories have none
	URLs    []string `json:"urls"`
}

// parseIndex reads a repository's index.yaml.
func parseIndex(text []byte) (map[string][]entry, error) {
	var file struct {
		Entries map[string][]entry `json:"entries"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	if file.Entries == nil {
		return nil, errors.New("it has no entries")
	}
	return file.Entries, nil
}

func (c *Client) resolveIndexed(ctx context.Context, source gitops.ChartSource, revision string) (Version, error) {
	found, err := c.find(ctx, source, revision)
	if err != nil {
		return Version{}, err
	}
	if found.Digest != "" {
		return Version{found.Version, "sha256:" + found.Digest}, nil
	}
	archive, err := c.download(ctx, source, found)
	if err != nil {
		return Version{}, err
	}
	return Version{found.Version, digestOf(archive)}, nil
}

func (c *Client) pullIndexed(ctx context.Context, source gitops.ChartSource, version Version) ([]byte, error) {
	found, err := c.find(ctx, source, version.Version)
	if err != nil {
		return nil, err
	}
	archive, err := c.download(ctx, source, found)
	if err != nil {
		return nil, err
	}
	if got := digestOf(archive); got != version.Digest {
		return nil, &Error{Kind: KindContent, Chart: source.Identity, Reason: fmt.Sprintf(
			"version %s has the digest %s and not %s; was it published again with other content?", version.Version, got, version.Digest)}
	}
	return archive, nil
}

// find returns the entry of the version that a revision means.
func (c *Client) find(ctx context.Context, source gitops.ChartSource, revision string) (entry, error) {
	entries, err := c.index(ctx, source)
	if err != nil {
		return entry{}, err
	}
	list, ok := entries[source.Chart]
	if !ok {
		return entry{}, &Error{Kind: KindMissing, Chart: source.Identity, Reason: "the repository has no chart of this name", Nearby: spelling.Closest(source.Chart, slices.Sorted(maps.Keys(entries)), nearbyCount)}
	}
	versions := make([]string, 0, len(list))
	for _, e := range list {
		versions = append(versions, e.Version)
	}
	version, err := choose(source, revision, versions)
	if err != nil {
		return entry{}, err
	}
	return list[slices.Index(versions, version)], nil
}

// index returns what the repository offers now. One that says that nothing has
// changed is not read again.
func (c *Client) index(ctx context.Context, source gitops.ChartSource) (map[string][]entry, error) {
	c.mu.Lock()
	known := c.indexes[source.Repository]
	c.mu.Unlock()
	answer, err := c.get(ctx, source, source.Repository+"/index.yaml", known.etag, maxIndex)
	if err != nil || answer.unchanged {
		return known.entries, err
	}
	entries, err := parseIndex(answer.body)
	if err != nil {
		return nil, &Error{Kind: KindContent, Chart: source.Identity, Reason: "the repository's index.yaml cannot be read", Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.indexes) >= maxIndexes {
		clear(c.indexes)
	}
	c.indexes[source.Repository] = index{answer.etag, entries}
	return entries, nil
}

// maxIndexes bounds what is remembered; what is forgotten is read again.
const maxIndexes = 32

// download returns a version's archive from the first URL of its entry.
func (c *Client) download(ctx context.Context, source gitops.ChartSource, e entry) ([]byte, error) {
	if len(e.URLs) == 0 {
		return nil, &Error{Kind: KindContent, Chart: source.Identity, Reason: fmt.Sprintf("the index has no URL of version %s", e.Version)}
	}
	base, err := url.Parse(source.Repository + "/")
	if err != nil {
		return nil, &Error{Kind: KindURL, Chart: source.Identity, Reason: "the repository's URL cannot be read"}
	}
	at, err := base.Parse(e.URLs[0])
	if err != nil || at.Scheme != "https" && at.Scheme != "http" {
		return nil, &Error{Kind: KindContent, Chart: source.Identity, Reason: fmt.Sprintf("the index has no usable URL of version %s", e.Version)}
	}
	answer, err := c.get(ctx, source, at.String(), "", maxChart)
	return answer.body, err
}

type answer struct {
	body      []byte
	etag      string
	unchanged bool
}

// get reads a URL. Only the repository's own host hears the password.
func (c *Client) get(ctx context.Context, source gitops.ChartSource, at, etag string, limit int64) (answer, error) {
	fault := func(kind Kind, reason string, err error) (answer, error) {
		return answer{}, &Error{Kind: kind, Chart: source.Identity, Reason: reason, Err: err}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return fault(KindURL, "its URL cannot be used", nil)
	}
	own, err := url.Parse(source.Repository)
	if err != nil {
		return fault(KindURL, "its URL cannot be used", nil)
	}
	request = request.WithContext(withNamed(ctx, own.Host))
	request.URL.User = nil
	if credential, ok := c.options.Credentials(source.Identity); ok && own.Host == request.URL.Host && own.Scheme == request.URL.Scheme {
		request.SetBasicAuth(credential.Username, credential.Password)
	}
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fault(KindUnavailable, "ask "+request.URL.Host, withoutURL(err))
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotModified:
		return answer{unchanged: true}, nil
	case http.StatusUnauthorized, http.StatusForbidden:
		return fault(KindAuth, request.URL.Host+" wants a password, or another one; write it into the settings' git.credentials", nil)
	case http.StatusNotFound, http.StatusGone:
		return fault(KindMissing, fmt.Sprintf("%s has no %s", request.URL.Host, request.URL.Path), nil)
	default:
		return fault(KindUnavailable, fmt.Sprintf("%s answers %s", request.URL.Host, response.Status), nil)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	switch {
	case err != nil:
		return fault(KindUnavailable, "read from "+request.URL.Host, withoutURL(err))
	case int64(len(body)) > limit:
		return fault(KindContent, fmt.Sprintf("%s has more than %d MiB", request.URL.Path, limit>>20), nil)
	}
	return answer{body: body, etag: response.Header.Get("ETag")}, nil
}

// withoutURL takes off the URL that the http package repeats, which may hold a
// token.
func withoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + strings.ToLower(hex.EncodeToString(sum[:]))
}
