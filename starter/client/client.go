// Package client calls the API of `tidegate serve`.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/starter/api"
	"github.com/tidegate/tidegate/workflows"
)

// maxAnswer is the largest answer that is read, in bytes.
const maxAnswer = 256 << 20

// Client calls one server; it is safe for concurrent use.
type Client struct {
	// Server is its base URL: http://127.0.0.1:8081.
	Server string
	// HTTP makes the requests; one with a timeout of 15 seconds when nil.
	HTTP *http.Client
}

var defaultHTTP = &http.Client{Timeout: 15 * time.Second}

// ErrNoServer means that nothing answered at all.
var ErrNoServer = errors.New("the server does not answer")

// silence is an ErrNoServer in better words.
type silence struct{ text string }

func (s silence) Error() string { return s.text }

func (silence) Is(target error) bool { return target == ErrNoServer }

// Error is a server's refusal.
type Error struct {
	Status int // of HTTP
	Detail string
}

func (e *Error) Error() string { return e.Detail }

// Is says whether err is a server's refusal with this HTTP status.
func Is(err error, status int) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.Status == status
}

// Deliveries returns every Delivery of the catalog.
func (c Client) Deliveries(ctx context.Context) (api.Deliveries, error) {
	return call[api.Deliveries](ctx, c, request{path: "/deliveries"})
}

// Delivery returns where one Delivery stands; key is project/name.
func (c Client) Delivery(ctx context.Context, key string) (promotion.Status, error) {
	return call[promotion.Status](ctx, c, request{path: "/deliveries/" + escape(key)})
}

// TargetFilter selects targets; an empty field selects all.
type TargetFilter struct{ Delivery, Region, Stage string }

// Targets returns the targets that a filter selects.
func (c Client) Targets(ctx context.Context, f TargetFilter) (api.Targets, error) {
	return call[api.Targets](ctx, c, request{path: "/targets?" + url.Values{"delivery": {f.Delivery}, "region": {f.Region}, "stage": {f.Stage}}.Encode()})
}

// Rollouts returns the rollouts of a Delivery, or of all when key is empty.
func (c Client) Rollouts(ctx context.Context, key string) (api.Rollouts, error) {
	return call[api.Rollouts](ctx, c, request{path: "/rollouts?" + url.Values{"delivery": {key}}.Encode()})
}

// Rollout returns everything about one rollout.
func (c Client) Rollout(ctx context.Context, id RolloutID) (workflows.RolloutStatus, error) {
	return call[workflows.RolloutStatus](ctx, c, request{path: "/rollouts/" + escape(id.String())})
}

// Approve opens a gate of a rollout.
func (c Client) Approve(ctx context.Context, id RolloutID, d api.Decision) (api.Outcome, error) {
	return call[api.Outcome](ctx, c, request{path: "/rollouts/" + escape(id.String()) + "/approve", body: d})
}

// Abort ends a rollout wherever it stands.
func (c Client) Abort(ctx context.Context, id RolloutID, a api.Abort) (api.Outcome, error) {
	return call[api.Outcome](ctx, c, request{path: "/rollouts/" + escape(id.String()) + "/abort", body: a})
}

// Reject ends a rollout at a gate.
func (c Client) Reject(ctx context.Context, id RolloutID, d api.Decision) (api.Outcome, error) {
	return call[api.Outcome](ctx, c, request{path: "/rollouts/" + escape(id.String()) + "/reject", body: d})
}

// Sync asks a Delivery to deliver its newest release now.
func (c Client) Sync(ctx context.Context, key string, s api.Sync) (api.Outcome, error) {
	return call[api.Outcome](ctx, c, request{path: "/deliveries/" + escape(key) + "/sync", body: s})
}

// Preview says what a Sync would do.
func (c Client) Preview(ctx context.Context, key string, s api.Sync) (workflows.PreviewResult, error) {
	return call[workflows.PreviewResult](ctx, c, request{path: "/deliveries/" + escape(key) + "/preview", body: s})
}

// Rollback takes a stage back to a release that was healthy there.
func (c Client) Rollback(ctx context.Context, key string, r api.Rollback) (api.Outcome, error) {
	return call[api.Outcome](ctx, c, request{path: "/deliveries/" + escape(key) + "/rollback", body: r})
}

// Abandon leaves the objects of targets that are to be deleted where they are.
func (c Client) Abandon(ctx context.Context, key string, a api.Abandon) (api.Outcome, error) {
	return call[api.Outcome](ctx, c, request{path: "/deliveries/" + escape(key) + "/abandon", body: a})
}

// Catalog returns what is declared, and what was refused.
func (c Client) Catalog(ctx context.Context) (workflows.CatalogStatus, error) {
	return call[workflows.CatalogStatus](ctx, c, request{path: "/catalog"})
}

// RefreshCatalog has the catalog read again.
func (c Client) RefreshCatalog(ctx context.Context) (api.Outcome, error) {
	return call[api.Outcome](ctx, c, request{path: "/catalog/refresh", body: struct{}{}})
}

// RolloutID names a rollout.
type RolloutID struct {
	Delivery string // project/name
	Stage    string
	Number   int
}

// String is project/name/stage/number.
func (id RolloutID) String() string {
	return id.Delivery + "/" + id.Stage + "/" + strconv.Itoa(id.Number)
}

// request is a GET, or a POST when it has a body.
type request struct {
	path string
	body any
}

func call[T any](ctx context.Context, c Client, r request) (T, error) {
	var result T
	method, body := http.MethodGet, []byte(nil)
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return result, fmt.Errorf("encode the request: %w", err)
		}
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.Server, "/")+api.Prefix+r.path, bytes.NewReader(body))
	if err != nil {
		return result, fmt.Errorf("server %q: %w; write it as http://127.0.0.1:8081", c.Server, err)
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set(api.KeyHeader, rand.Text())
	}
	httpClient := c.HTTP
	if httpClient == nil {
		httpClient = defaultHTTP
	}
	response, err := httpClient.Do(req)
	if err != nil {
		return result, c.unanswered(ctx, err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	return result, decode(response, &result)
}

// unanswered explains why there was no answer.
func (c Client) unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var cause *url.Error
	if errors.As(err, &cause) && !cause.Timeout() {
		return silence{fmt.Sprintf("nothing listens on %s: start it with `tidegate serve`, or `make up`", c.Server)}
	}
	return silence{fmt.Sprintf("%s does not answer: %v", c.Server, err)}
}

func decode(response *http.Response, result any) error {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return silence{fmt.Sprintf("the answer of %s broke off: %v", response.Request.URL.Host, err)}
	}
	if response.StatusCode != http.StatusOK {
		return refusal(response.StatusCode, body)
	}
	if err := json.Unmarshal(body, result); err != nil {
		return fmt.Errorf("what answers at %s is not Tidegate's API: %w", response.Request.URL.Host, err)
	}
	return nil
}

// refusal reads the problem that the API answers with.
func refusal(status int, body []byte) error {
	var problem struct {
		Detail string `json:"detail"`
		Errors []struct {
			Message  string `json:"message"`
			Location string `json:"location"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(body, &problem); err != nil || problem.Detail == "" {
		problem.Detail = fmt.Sprintf("the server answers %d %s", status, http.StatusText(status))
	}
	for _, e := range problem.Errors {
		problem.Detail += fmt.Sprintf("; %s: %s", e.Location, e.Message)
	}
	return &Error{Status: status, Detail: problem.Detail}
}

// escape makes a name with slashes a path, element by element.
func escape(key string) string {
	parts := strings.Split(key, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}
