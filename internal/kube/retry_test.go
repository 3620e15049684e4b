package kube_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/kube"
)

// answers is a server that gives one answer after another, the last one for ever.
func answers(t *testing.T, answers ...func(http.ResponseWriter)) (region *kube.Region, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := int(asked.Add(1)) - 1
		answers[min(n, len(answers)-1)](w)
	}))
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"x","clusters":[{"name":"x","cluster":{"server":%q}}],"contexts":[{"name":"x","context":{"cluster":"x"}}]}`, server.URL)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	region, err := kube.Open(t.Context(), kube.Settings{Name: "r", Kubeconfig: path, Patience: time.Second, Unreachable: time.Second})
	require.NoError(t, err)
	t.Cleanup(region.Close)
	return region, asked
}

func status(code int, reason string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","code":%d,"reason":%q,"message":"no","details":{"name":"x"}}`, code, reason)
	}
}

func hangUp(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

var absent = status(404, "NotFound")

func TestErrorsThatMayPassAreRetried(t *testing.T) {
	region, asked := answers(t, status(429, "TooManyRequests"), status(500, "InternalError"), hangUp, status(503, "ServiceUnavailable"), absent)
	inv, err := region.Inventory(t.Context(), "shop")
	require.NoError(t, err)
	require.Empty(t, inv.Records)
	require.EqualValues(t, 5, asked.Load())
}

func TestTheServersWishToWaitIsHonoured(t *testing.T) {
	throttled := func(w http.ResponseWriter) { // as API Priority and Fairness says it
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte("Too many requests, please try again later."))
	}
	region, asked := answers(t, throttled, absent)
	started := time.Now()
	_, err := region.Inventory(t.Context(), "shop")
	require.NoError(t, err)
	require.EqualValues(t, 2, asked.Load())
	require.GreaterOrEqual(t, time.Since(started), 500*time.Millisecond)
}

func TestErrorsThatStayAreNotRetried(t *testing.T) {
	region, asked := answers(t, status(403, "Forbidden"))
	_, err := region.Inventory(t.Context(), "shop")
	require.ErrorIs(t, err, kube.ErrForbidden)
	require.ErrorContains(t, err, "read the inventory of shop in region r")
	require.EqualValues(t, 1, asked.Load())
}

func TestPatienceEnds(t *testing.T) {
	region, asked := answers(t, status(500, "InternalError"))
	_, err := region.Inventory(t.Context(), "shop")
	require.Error(t, err)
	require.NotErrorIs(t, err, kube.ErrUnreachable, "it does answer")
	require.Greater(t, asked.Load(), int32(2))
}

func TestAnEmptyAnswerIsNoEmptyInventory(t *testing.T) {
	region, _ := answers(t, func(w http.ResponseWriter) { w.WriteHeader(http.StatusOK) })
	_, err := region.Inventory(t.Context(), "shop")
	require.Error(t, err, "an error is never a deletion")
}

func TestARegionThatIsDownIsNotAskedByEverybody(t *testing.T) {
	region, asked := answers(t, hangUp)
	_, err := region.Inventory(t.Context(), "shop")
	require.ErrorIs(t, err, kube.ErrUnreachable)
	before, started := asked.Load(), time.Now()
	for range 200 {
		_, err := region.Inventory(t.Context(), "shop")
		require.ErrorIs(t, err, kube.ErrUnreachable)
	}
	most := 1 + int32(time.Since(started)/time.Second) // one a second
	require.LessOrEqual(t, asked.Load()-before, most)
}
