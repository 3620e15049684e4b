package e2e_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/starter/hook"
)

// files are what a commit writes, by path.
type files map[string]string

// push commits files and pushes them; the Git host announces that. It returns
// the commit.
func (w *world) push(f files) string {
	w.t.Helper()
	commit := w.pushSilently(f)
	w.announce(commit)
	return commit
}

// pushSilently is push without a webhook.
func (w *world) pushSilently(f files) string {
	w.t.Helper()
	w.repo.CommitFiles(f, "change")
	w.repo.Push("main")
	return w.repo.Head()
}

// announce posts the webhook of a push to main, again and again until Tidegate
// has accepted it, as Git hosts do.
func (w *world) announce(commit string) hook.Answer {
	w.t.Helper()
	var answer hook.Answer
	w.until("the webhook is accepted", func(ctx context.Context) (bool, any) {
		status, body := w.post(ctx, w.pushEvent(w.repo.URL, commit))
		if status != http.StatusAccepted {
			return false, fmt.Sprintf("%d %s", status, body)
		}
		return json.Unmarshal([]byte(body), &answer) == nil, body
	})
	return answer
}

// webhook is a request as GitHub sends it.
type webhook struct {
	body      []byte
	delivery  string
	signature string
}

// pushEvent is the webhook of a push to a repository's main branch.
func (w *world) pushEvent(cloneURL, commit string) webhook {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{
		"ref": "refs/heads/main", "before": "0000000000000000000000000000000000000001", "after": commit,
		"repository": map[string]any{"clone_url": cloneURL},
	})
	require.NoError(w.t, err)
	return signed(body)
}

func signed(body []byte) webhook {
	mac := hmac.New(sha256.New, []byte(webhookSecret))
	mac.Write(body)
	return webhook{body: body, delivery: rand.Text(), signature: "sha256=" + hex.EncodeToString(mac.Sum(nil))}
}

// post sends a webhook and returns the answer; status 0 when there is none.
func (w *world) post(ctx context.Context, hook webhook) (status int, body string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+w.settings.Webhook.Listen+"/api/webhook", bytes.NewReader(hook.body))
	require.NoError(w.t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-GitHub-Event", "push")
	request.Header.Set("X-GitHub-Delivery", hook.delivery)
	request.Header.Set("X-Hub-Signature-256", hook.signature)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}
