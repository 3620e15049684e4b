package e2e_test

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	hooks "github.com/tidegate/tidegate/internal/webhook"
)

func TestWebhooksAndPolling(t *testing.T) {
	w := newWorld(t, options{stages: []stage{{name: "all", regions: []string{"dev-1"}}}, poll: time.Second})

	w.step("a push without any webhook is found by polling", func(*testing.T) {
		w.untilDelivered(w.pushSilently(web("example.com/web:1")))
		w.untilDelivered(w.pushSilently(web("example.com/web:2")))
	})

	w.step("each kind of request gets its answer", func(t *testing.T) {
		good := w.pushEvent(w.repo.URL, w.repo.Head())
		status, body := w.post(t.Context(), good)
		require.Equal(t, http.StatusAccepted, status, body)
		require.Contains(t, body, "push/")
		status, body = w.post(t.Context(), good)
		require.Equal(t, http.StatusOK, status, body)
		require.Contains(t, body, "before")

		unknown := w.pushEvent("https://git.example.com/other.git", w.repo.Head())
		status, body = w.post(t.Context(), unknown)
		require.Equal(t, http.StatusOK, status, body)
		require.Contains(t, body, "repository")

		forged := w.pushEvent(w.repo.URL, w.repo.Head())
		forged.body = append(forged.body, ' ')
		status, body = w.post(t.Context(), forged)
		require.Equal(t, http.StatusUnauthorized, status, body)
		require.NotContains(t, body, webhookSecret)

		status, body = w.post(t.Context(), signed(bytes.Repeat([]byte(" "), hooks.MaxBody+1)))
		require.Equal(t, http.StatusRequestEntityTooLarge, status, body)

		status, body = w.post(t.Context(), signed([]byte(`{"ref": `)))
		require.Equal(t, http.StatusBadRequest, status, body)
	})
}
