package hook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/telemetry"
	"github.com/tidegate/tidegate/internal/webhook"
	"github.com/tidegate/tidegate/starter/hook"
	"github.com/tidegate/tidegate/workflows"
)

const (
	secret = "a secret of both sides"
	commit = "1111111111111111111111111111111111111111"
	gone   = "0000000000000000000000000000000000000000"
)

// hinted is one call of Hint.
type hinted struct {
	Ref  gitops.Ref
	Hint workflows.Hint
}

// bench is a handler with everything around it under the test's control.
type bench struct {
	handler http.Handler
	metrics *telemetry.Metrics

	hints      []hinted
	hintErr    error
	revisions  []string // that the catalog follows in github.com/acme/shop
	catalogErr error
}

func newBench(revisions ...string) *bench {
	b := &bench{metrics: telemetry.NewMetrics(prometheus.NewRegistry()), revisions: revisions}
	b.handler = hook.New(hook.Options{
		GitHub: webhook.GitHub{Secret: []byte(secret)}, Sender: b, Catalog: b, Identity: gitops.RepositoryIdentity, Metrics: b.metrics, Log: zap.NewNop(),
	})
	return b
}

func (b *bench) Hint(_ context.Context, ref gitops.Ref, hint workflows.Hint) (string, error) {
	if b.hintErr != nil {
		return "", b.hintErr
	}
	b.hints = append(b.hints, hinted{ref, hint})
	return workflows.PushID(ref), nil
}

func (b *bench) Catalog(context.Context) (gitops.Catalog, error) {
	var cat gitops.Catalog
	for _, revision := range b.revisions {
		source := gitops.Source{RepoURL: "https://github.com/acme/shop", Repository: "github.com/acme/shop", Revision: revision}
		cat.Deliveries = append(cat.Deliveries, gitops.Delivery{Project: "default", Name: revision, Targets: []gitops.Target{{Name: "a", Source: source}, {Name: "b", Source: source}}})
	}
	return cat, b.catalogErr
}

// followed are the revisions that were hinted.
func (b *bench) followed() []string {
	var list []string
	for _, h := range b.hints {
		list = append(list, h.Ref.Revision)
	}
	return list
}

func push(repository, ref, after string) string {
	return `{"ref":"` + ref + `","before":"` + gone + `","after":"` + after + `","repository":{"clone_url":"` + repository + `"}}`
}

const shop = "https://github.com/Acme/Shop.git"

// request is a delivery as GitHub sends it.
func request(t *testing.T, event, id, body string) *http.Request {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(body))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, hook.Path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", event)
	r.Header.Set("X-GitHub-Delivery", id)
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(h.Sum(nil)))
	return r
}

func (b *bench) send(t *testing.T, r *http.Request) (int, hook.Answer) {
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	var answer hook.Answer
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer), w.Body.String())
	return w.Code, answer
}

func TestAPushHintsEveryRefThatItMayMove(t *testing.T) {
	all := []string{"HEAD", "^1", "feature/x", "heads/main", "main", "refs/heads/main", "refs/tags/v1", "v1", commit}
	for pushed, want := range map[string][]string{
		"refs/heads/main":      {"HEAD", "heads/main", "main", "refs/heads/main"},
		"refs/heads/feature/x": {"HEAD", "feature/x"},
		"refs/heads/other":     {"HEAD"},
		"refs/tags/v1":         {"^1", "refs/tags/v1", "v1"},
	} {
		t.Run(pushed, func(t *testing.T) {
			b := newBench(all...)
			status, answer := b.send(t, request(t, "push", "d-1", push(shop, pushed, commit)))
			require.Equal(t, http.StatusAccepted, status)
			require.Equal(t, want, b.followed())
			require.Len(t, answer.WorkflowIDs, len(want))
			require.Equal(t, "push/github.com/acme/shop/"+want[0], answer.WorkflowID)
			hinted := commit
			if want[0] == "HEAD" || want[0] == "^1" {
				hinted = "" // the pushed branch need not be what HEAD means, the tag not the highest
			}
			require.Equal(t, workflows.Hint{Commit: hinted, From: "github d-1"}, b.hints[0].Hint)
		})
	}
}

func TestADeletedBranchIsAHintWithoutACommit(t *testing.T) {
	b := newBench("main")
	status, _ := b.send(t, request(t, "push", "d-1", push(shop, "refs/heads/main", gone)))
	require.Equal(t, http.StatusAccepted, status)
	require.Equal(t, workflows.Hint{From: "github d-1"}, b.hints[0].Hint)
}

func TestTheCatalogDecidesWhichRepositoryIsMeant(t *testing.T) {
	for repository, known := range map[string]bool{
		"git@github.com:acme/shop.git":            true,
		"ssh://git@github.com/acme/shop":          true,
		"https://github.com/acme/shop-evil":       false,
		"https://github.com.evil.example/acme/a":  false,
		"https://127.0.0.1:9/acme/shop":           false,
		"not an address":                          false,
		"https://user:pass@github.com/acme/shop/": true,
	} {
		b := newBench("main")
		status, answer := b.send(t, request(t, "push", "d-1", push(repository, "refs/heads/main", commit)))
		if known {
			require.Equal(t, http.StatusAccepted, status, repository)
			require.Equal(t, "github.com/acme/shop", answer.Repository)
			continue
		}
		require.Equal(t, http.StatusOK, status, repository)
		require.Equal(t, "no source of the catalog is this repository", answer.Reason)
		require.Empty(t, b.hints)
	}
}

func TestWhatStartsNothingSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		event, body, reason, outcome string
	}{
		"ping":               {"ping", `{"zen":"x"}`, "ping: the webhook works", "ignored"},
		"another event":      {"issues", `{}`, "issues events move no ref; only push is needed", "ignored"},
		"a branch that none": {"push", push(shop, "refs/heads/other", commit), "no Delivery follows refs/heads/other of github.com/acme/shop", "not_followed"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench("main")
			status, answer := b.send(t, request(t, c.event, "d-1", c.body))
			require.Equal(t, http.StatusOK, status)
			require.Equal(t, hook.Answer{Reason: c.reason}, answer)
			require.Empty(t, b.hints)
			event := map[string]string{"issues": "other"}[c.event]
			if event == "" {
				event = c.event
			}
			require.InDelta(t, 1, testutil.ToFloat64(b.metrics.WebhookEvents.WithLabelValues("github", event, c.outcome)), 0)
		})
	}
}

func TestARequestThatIsNotToBeBelievedStartsNothing(t *testing.T) {
	good := push(shop, "refs/heads/main", commit)
	unsigned := func(t *testing.T) *http.Request {
		r := request(t, "push", "d-1", good)
		r.Header.Del("X-Hub-Signature-256")
		return r
	}
	tooLarge := func(t *testing.T) *http.Request {
		r := request(t, "push", "d-1", good)
		r.ContentLength = webhook.MaxBody + 1
		return r
	}
	for name, c := range map[string]struct {
		request func(t *testing.T) *http.Request
		status  int
		event   string
		outcome string
	}{
		"unsigned":  {unsigned, http.StatusUnauthorized, "unknown", "unsigned"},
		"too large": {tooLarge, http.StatusRequestEntityTooLarge, "unknown", "too_large"},
		"malformed": {func(t *testing.T) *http.Request { return request(t, "push", "d-1", `{"ref":1}`) }, http.StatusBadRequest, "unknown", "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench("main")
			status, answer := b.send(t, c.request(t))
			require.Equal(t, c.status, status)
			require.NotEmpty(t, answer.Reason)
			require.Empty(t, b.hints)
			require.InDelta(t, 1, testutil.ToFloat64(b.metrics.WebhookEvents.WithLabelValues("github", c.event, c.outcome)), 0)
		})
	}
}

func TestARedeliveryIsAnsweredAndNotHandledAgain(t *testing.T) {
	b := newBench("main")
	body := push(shop, "refs/heads/main", commit)
	b.send(t, request(t, "push", "d-1", body))
	status, answer := b.send(t, request(t, "push", "d-1", body))
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "this delivery was handled before", answer.Reason)
	require.Len(t, b.hints, 1)
	require.InDelta(t, 1, testutil.ToFloat64(b.metrics.WebhookDedupeHits), 0)
	b.send(t, request(t, "push", "d-2", body))
	require.Len(t, b.hints, 2, "another delivery of the same push counts")
}

func TestARedeliveryCountsWhenTheFirstOneStartedNothing(t *testing.T) {
	body := push(shop, "refs/heads/main", commit)
	for name, c := range map[string]struct {
		broken, mended func(*bench)
		status         int
	}{
		"Temporal is down":            {func(b *bench) { b.hintErr = errors.New("down") }, func(b *bench) { b.hintErr = nil }, http.StatusServiceUnavailable},
		"the catalog cannot be read":  {func(b *bench) { b.catalogErr = errors.New("down") }, func(b *bench) { b.catalogErr = nil }, http.StatusServiceUnavailable},
		"the repository is not known": {func(b *bench) { b.revisions = nil }, func(b *bench) { b.revisions = []string{"main"} }, http.StatusOK},
		"the branch was not followed": {func(b *bench) { b.revisions = []string{"v1"} }, func(b *bench) { b.revisions = []string{"main"} }, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench("main")
			c.broken(b)
			status, answer := b.send(t, request(t, "push", "d-1", body))
			require.Equal(t, c.status, status)
			require.NotEmpty(t, answer.Reason)
			c.mended(b)
			status, _ = b.send(t, request(t, "push", "d-1", body))
			require.Equal(t, http.StatusAccepted, status)
			require.Equal(t, []string{"main"}, b.followed())
		})
	}
}
