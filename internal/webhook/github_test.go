package webhook_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/webhook"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const secret = "a secret of both sides"

func sign(key string, body []byte) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write(body)
	return "sha256=" + hex.EncodeToString(h.Sum(nil))
}

// delivery is a request as GitHub sends it.
func delivery(event string, body []byte) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/webhooks/github", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", event)
	r.Header.Set("X-GitHub-Delivery", "72d3162e-cc78-11ee-81ab-4c9367dc0958")
	r.Header.Set("X-Hub-Signature-256", sign(secret, body))
	return r
}

func asForm(payload []byte) []byte {
	return []byte(url.Values{"payload": {string(payload)}}.Encode())
}

func read(r *http.Request) (webhook.Event, error) {
	return webhook.GitHub{Secret: []byte(secret)}.Read(r)
}

func payload(t testing.TB, name string) []byte {
	body, err := os.ReadFile(filepath.Join("testdata", "github", name+".json"))
	require.NoError(t, err)
	return body
}

var recorded = map[string]string{
	"push-branch": "push", "push-branch-created": "push", "push-branch-deleted": "push", "push-tag": "push", "push-notes": "push",
	"ping": "ping", "pull-request": "pull_request",
}

func TestRecordedPayloadsAreReadAsExpected(t *testing.T) {
	for name, event := range recorded {
		t.Run(name, func(t *testing.T) {
			got, err := read(delivery(event, payload(t, name)))
			require.NoError(t, err)
			text, err := json.MarshalIndent(got, "", "  ")
			require.NoError(t, err)
			golden := filepath.Join("testdata", "github", name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(golden, append(text, '\n'), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), string(text)+"\n")
		})
	}
}

func TestAFormIsReadLikeJSON(t *testing.T) {
	body := payload(t, "push-branch-created")
	plain, err := read(delivery("push", body))
	require.NoError(t, err)
	r := delivery("push", asForm(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	form, err := read(r)
	require.NoError(t, err)
	require.Equal(t, plain.Push, form.Push)
}

func TestEveryUnsignedRequestIsRefused(t *testing.T) {
	body := payload(t, "push-branch")
	right := sign(secret, body)
	for name, signature := range map[string]string{
		"none":              "",
		"another secret":    sign("another", body),
		"another body":      sign(secret, body[1:]),
		"no secret":         sign("", body),
		"one digit changed": right[:len(right)-1] + string("0123456789abcdef0"[strings.IndexByte("0123456789abcdef", right[len(right)-1])+1]),
		"cut short":         right[:len(right)-2],
		"too long":          right + "00",
		"not hex":           "sha256=" + strings.Repeat("zz", 32),
		"no algorithm":      strings.TrimPrefix(right, "sha256="),
		"SHA-1":             "sha1=" + strings.Repeat("0a", 20),
		"empty":             "sha256=",
	} {
		t.Run(name, func(t *testing.T) {
			r := delivery("push", body)
			r.Header.Set("X-Hub-Signature-256", signature)
			event, err := read(r)
			require.ErrorIs(t, err, webhook.ErrUnsigned)
			require.Equal(t, http.StatusUnauthorized, webhook.Status(err))
			require.Zero(t, event)
		})
	}
}

func TestWithoutASecretNothingIsAccepted(t *testing.T) {
	body := payload(t, "push-branch")
	r := delivery("push", body)
	r.Header.Set("X-Hub-Signature-256", sign("", body))
	_, err := webhook.GitHub{}.Read(r)
	require.ErrorIs(t, err, webhook.ErrUnsigned)
}

func TestAnUnsignedRequestIsNotReadWithoutASignatureAndNotParsedWithAWrongOne(t *testing.T) {
	r := delivery("push", nil)
	r.Body = io.NopCloser(unreadable{t})
	r.ContentLength = -1
	r.Header.Del("X-Hub-Signature-256")
	_, err := read(r)
	require.ErrorIs(t, err, webhook.ErrUnsigned)

	r = delivery("push", []byte("{not JSON"))
	r.Header.Set("X-Hub-Signature-256", sign("another", []byte("{not JSON")))
	_, err = read(r)
	require.ErrorIs(t, err, webhook.ErrUnsigned)
	require.NotErrorIs(t, err, webhook.ErrMalformed)
}

type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

func TestABodyOverTheLimitIsRefused(t *testing.T) {
	body := make([]byte, webhook.MaxBody+1)
	announced := delivery("push", body)
	announced.Body = io.NopCloser(unreadable{t})
	streamed := delivery("push", body)
	streamed.ContentLength = -1
	limitedBefore := delivery("push", body[:1000])
	limitedBefore.Body = http.MaxBytesReader(httptest.NewRecorder(), limitedBefore.Body, 10)
	for name, r := range map[string]*http.Request{"announced": announced, "streamed": streamed, "limited by the server": limitedBefore} {
		t.Run(name, func(t *testing.T) {
			_, err := read(r)
			require.ErrorIs(t, err, webhook.ErrTooLarge)
			require.Equal(t, http.StatusRequestEntityTooLarge, webhook.Status(err))
		})
	}
	exactly := append([]byte(`{"ref":"refs/notes/x"}`), bytes.Repeat([]byte(" "), webhook.MaxBody)...)[:webhook.MaxBody]
	event, err := read(delivery("push", exactly))
	require.NoError(t, err)
	require.NotEmpty(t, event.Ignored)
}

func TestSignedNonsenseIsMalformed(t *testing.T) {
	good := string(payload(t, "push-branch"))
	change := func(old, with string) []byte {
		require.Contains(t, good, old)
		return []byte(strings.Replace(good, old, with, 1))
	}
	header := func(name, value string) func(http.Header) { return func(h http.Header) { h.Set(name, value) } }
	for name, c := range map[string]struct {
		body   []byte
		header func(http.Header)
	}{
		"empty":                 {body: nil},
		"not JSON":              {body: []byte("{")},
		"not an object":         {body: []byte(`[]`)},
		"null":                  {body: []byte(`null`)},
		"two documents":         {body: []byte(good + good)},
		"deep":                  {body: bytes.Repeat([]byte("["), 1<<20)},
		"deep and unknown":      {body: []byte(`{"x":` + strings.Repeat(`{"x":`, 1<<20))},
		"ref is no string":      {body: change(`"refs/heads/main"`, `["refs/heads/main"]`)},
		"ref with a newline":    {body: change(`"refs/heads/main"`, `"refs/heads/ma\nin"`)},
		"ref with a wildcard":   {body: change(`"refs/heads/main"`, `"refs/heads/*"`)},
		"ref that climbs":       {body: change(`"refs/heads/main"`, `"refs/heads/../../x"`)},
		"ref without a name":    {body: change(`"refs/heads/main"`, `"refs/heads/"`)},
		"ref without end":       {body: change(`"refs/heads/main"`, `"refs/heads/`+strings.Repeat("x", 2000)+`"`)},
		"no ref":                {body: []byte(`{}`)},
		"after is no object id": {body: change(`"after": "c0ffee`, `"after": "main; `)},
		"after is short":        {body: change(`"after": "c0ffee`, `"after": "`)},
		"no repository":         {body: change(`"repository"`, `"depository"`)},
		"form without payload":  {body: []byte("x=1"), header: header("Content-Type", "application/x-www-form-urlencoded")},
		"broken form":           {body: []byte("payload=%zz"), header: header("Content-Type", "application/x-www-form-urlencoded")},
		"XML":                   {body: []byte("<x/>"), header: header("Content-Type", "application/xml")},
		"no content type":       {body: []byte(good), header: header("Content-Type", "")},
		"no event":              {body: []byte(good), header: header("X-GitHub-Event", "")},
		"no delivery id":        {body: []byte(good), header: header("X-GitHub-Delivery", "")},
		"delivery id of a path": {body: []byte(good), header: header("X-GitHub-Delivery", "../x")},
		"delivery id too long":  {body: []byte(good), header: header("X-GitHub-Delivery", strings.Repeat("x", 129))},
	} {
		t.Run(name, func(t *testing.T) {
			r := delivery("push", c.body)
			if c.header != nil {
				c.header(r.Header)
			}
			event, err := read(r)
			require.ErrorIs(t, err, webhook.ErrMalformed)
			require.Equal(t, http.StatusBadRequest, webhook.Status(err))
			require.Zero(t, event)
			require.Less(t, len(err.Error()), 500, "an error never quotes a whole body")
		})
	}
}

func TestABodyThatBreaksOffIsMalformed(t *testing.T) {
	r := delivery("push", nil)
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader("{"), brokenOff{}))
	r.ContentLength = -1
	_, err := read(r)
	require.ErrorIs(t, err, webhook.ErrMalformed)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

type brokenOff struct{}

func (brokenOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestOtherErrorsAreOurFault(t *testing.T) {
	require.Equal(t, http.StatusInternalServerError, webhook.Status(io.EOF))
	require.Equal(t, http.StatusOK, webhook.Status(nil))
}

func TestTheKeyOfADeliveryCoversItsBody(t *testing.T) {
	one, err := read(delivery("push", payload(t, "push-branch")))
	require.NoError(t, err)
	again, err := read(delivery("push", payload(t, "push-branch")))
	require.NoError(t, err)
	other, err := read(delivery("push", payload(t, "push-tag")))
	require.NoError(t, err)
	require.Equal(t, one.Key(), again.Key())
	require.NotEqual(t, one.Key(), other.Key())
}

func FuzzGitHub(f *testing.F) {
	for name := range recorded {
		f.Add(payload(f, name), false)
		f.Add(asForm(payload(f, name)), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, form bool) {
		r := delivery("push", body)
		if form {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		event, err := read(r)
		if err != nil {
			require.ErrorIs(t, err, webhook.ErrMalformed)
			return
		}
		require.Equal(t, event.Push == nil, event.Ignored != "", "a push or a reason")
		if p := event.Push; p != nil {
			require.Regexp(t, `^refs/(heads|tags)/[^\x00-\x20]+$`, p.Ref)
			require.Regexp(t, `^([0-9a-f]{40}|[0-9a-f]{64}|)$`, p.After)
			require.Regexp(t, `^([0-9a-f]{40}|[0-9a-f]{64}|)$`, p.Before)
			require.NotEmpty(t, p.Repositories)
			require.True(t, p.Deleted || p.After != "")
		}
	})
}
