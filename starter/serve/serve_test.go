package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sync/errgroup"
)

func ask(t *testing.T, url string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	return http.DefaultClient.Do(r)
}

// freeAddress is one at which nothing listens.
func freeAddress(t *testing.T) string {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

func TestAnAddressThatIsTakenIsNamedWithTheWayOut(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	var group errgroup.Group
	err = listen(t.Context(), &group, listener{name: "api", address: l.Addr().String(), log: zap.NewNop()})
	require.ErrorContains(t, err, l.Addr().String())
	require.ErrorContains(t, err, "set api.listen to another")
}

func TestARequestThatIsUnderWayIsFinishedWhenTheProgramStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	entered, release := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		_, _ = io.WriteString(w, "done")
	})
	address := freeAddress(t)
	var group errgroup.Group
	require.NoError(t, listen(ctx, &group, listener{name: "x", address: address, handler: slow, log: zap.NewNop()}))
	answered := make(chan string, 1)
	go func() {
		response, err := ask(t, "http://"+address)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		answered <- string(body)
	}()
	<-entered
	stop()
	close(release)
	require.Equal(t, "done", <-answered)
	require.NoError(t, group.Wait())
}

func TestAPanicIsAnErrorOfOneRequest(t *testing.T) {
	core, logs := observer.New(zap.ErrorLevel)
	handler := recovered(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oh") }), zap.New(core))
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/x", nil))
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, "/x", logs.All()[0].ContextMap()["path"])
}

func TestReadyIsSaidWhenEveryCheckHolds(t *testing.T) {
	mux := http.NewServeMux()
	h := &health{checks: []check{{"temporal", waitingForTemporal}}}
	h.register(mux)
	status := func(path string) (int, string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	code, text := status("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "temporal: not connected yet\n", text)
	code, _ = status("/healthz")
	require.Equal(t, http.StatusOK, code, "it lives nevertheless")
	h.set(check{"a", func(context.Context) error { return nil }}, check{"b", func(context.Context) error { return errors.New("gone") }})
	_, text = status("/readyz")
	require.Equal(t, "b: gone\n", text)
	h.set(check{"a", func(context.Context) error { return nil }})
	code, _ = status("/readyz")
	require.Equal(t, http.StatusOK, code)
}

func TestWhatMustAlwaysRunIsEnsuredAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.WarnLevel)
		ctx, stop := context.WithCancel(t.Context())
		calls := 0
		ensure := func(context.Context) error {
			calls++
			if calls == 2 || calls == 3 {
				return errors.New("down")
			}
			return nil
		}
		ended := make(chan error, 1)
		go func() { ended <- keepRunning(ctx, ensure, 10*time.Second, zap.New(core)) }()
		<-time.After(45 * time.Second)
		stop()
		require.NoError(t, <-ended)
		require.Equal(t, 5, calls)
		require.Equal(t, 1, logs.Len(), "a row of errors is logged once")
	})
}
