package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/deploy/local/stack"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/workflows"
)

// settingsOf is an application of many objects, so that writing them takes a while.
func settingsOf(version string) files {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings-%d}\ndata: {version: %q}\n", i, version)
	}
	return files{"app/settings.yaml": b.String()}
}

// startSecondWorker starts another worker beside the first, with a folder of its own
// for what only one may use.
func (w *world) startSecondWorker() *stack.Process {
	w.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(w.t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(w.t, err)
	address := l.Addr().String()
	require.NoError(w.t, l.Close())
	text, err := os.ReadFile(w.settingsFile())
	require.NoError(w.t, err)
	own := strings.ReplaceAll(string(text), w.settings.Worker.Metrics, address)
	own = strings.ReplaceAll(own, filepath.Join(w.dir, "mirrors"), filepath.Join(w.dir, "second/mirrors"))
	w.write("second/tidegate.yaml", own)
	require.NoError(w.t, os.MkdirAll(filepath.Join(w.dir, "second/mirrors"), 0o750))
	dir := filepath.Join(w.dir, "second")
	p, err := stack.Run(w.t.Context(), dir, stack.Command{
		Name: "tidegate-worker", Argv: []string{filepath.Join(w.bin, "tidegate-worker"), "--config", filepath.Join(dir, "tidegate.yaml")},
	}, answers("http://"+address+"/healthz"))
	require.NoError(w.t, err)
	w.t.Cleanup(func() {
		if p.Alive() {
			require.NoError(w.t, p.Kill())
		}
	})
	return p
}

// fenced is how often a worker says that it was fenced.
func (w *world) fenced(ctx context.Context) (count string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.settings.Worker.Metrics+"/metrics", nil)
	require.NoError(w.t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "tidegate_sync_errors_total{") && strings.Contains(line, `error_type="Fenced"`) {
			return strings.TrimSpace(line[strings.LastIndex(line, " "):])
		}
	}
	return ""
}

// A worker is frozen in the middle of its writes, for longer than its heartbeat.
// Another one finishes that release and delivers a newer one. Then the first goes on
// where it was.
func TestAFrozenWorkerWritesNothingAfterANewerReleaseHasTakenOver(t *testing.T) {
	const region = "dev-1"
	w := newWorld(t, options{stages: []stage{{name: "all", regions: []string{region}}}})
	before := w.now()
	old := w.push(settingsOf("1"))
	w.untilRunning("all", old, "writes", func(r workflows.RolloutStatus) bool { return r.Targets[0].Phase == gitops.TargetApplying })
	w.until("the first objects are written", func(context.Context) (bool, any) { return len(w.written(region, before)) > 20, nil })
	require.NoError(t, w.worker.Freeze())
	require.Less(t, len(w.written(region, before)), 400, "it was frozen in the middle")
	second := w.startSecondWorker()
	newer := w.push(settingsOf("2"))
	w.untilDelivered(newer)
	taken := w.now()
	epochs := w.writers(region, before)
	newest := epochs[len(epochs)-1]
	require.Greater(t, newest, epochs[0])

	require.NoError(t, w.worker.Thaw())
	w.until("the first worker is told that it was fenced, or that nobody waits for it", func(ctx context.Context) (bool, any) {
		return w.fenced(ctx) != "", "not yet"
	})
	t.Logf("refused by the fence: %s", w.fenced(t.Context()))
	require.NoError(t, second.Kill())
	last := w.push(settingsOf("3"))
	w.untilDelivered(last)
	for _, e := range w.written(region, taken) {
		for number := range newest {
			caller := fmt.Sprintf("rollout=%s/all#%d ", w.delivery(), number)
			require.False(t, strings.Contains(e.UserAgent, caller) && e.ResponseStatus.Code < 300, "%s %s by %s", e.Verb, e.RequestURI, e.UserAgent)
		}
	}
}
