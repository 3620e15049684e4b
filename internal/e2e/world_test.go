package e2e_test

import (
	"crypto/rand"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tidegate/tidegate/deploy/local/stack"
	"github.com/tidegate/tidegate/internal/git/gittest"
	"github.com/tidegate/tidegate/internal/temporalclient"
	api "github.com/tidegate/tidegate/starter/client"
)

// world is one installation of Tidegate, and the repository that it delivers.
type world struct {
	fleet
	t        *testing.T
	name     string // of the Temporal namespace, the Kubernetes namespace, the ApplicationSet and the Pipeline
	dir      string
	options  options
	git      *gittest.Server
	repo     *gittest.Repo
	temporal client.Client
	api      api.Client

	worker, serve *stack.Process // nil while killed
}

// options say how a world differs from others.
type options struct {
	stages []stage       // the Pipeline's; all regions in one stage when empty
	poll   time.Duration // how often repositories are asked; practically never when zero
	remote []string      // what manifests may refer to
	plugin string        // a ConfigManagementPlugin
	// catalog replaces the catalog of one ApplicationSet and its Pipeline.
	catalog func(w *world) string
}

// stage is one stage of a world's Pipeline.
type stage struct {
	name     string
	regions  []string
	approval bool // it has a gate
}

// delivery is the key of the Delivery that a world's catalog declares.
func (w *world) delivery() string { return "default/" + w.name }

// newWorld starts an installation that ends with the test.
func newWorld(t *testing.T, o options) *world {
	t.Helper()
	f := theFleet(t)
	if len(o.stages) == 0 {
		o.stages = []stage{{name: "all", regions: f.regionNames()}}
	}
	if o.poll == 0 {
		o.poll = 24 * time.Hour
	}
	if o.catalog == nil {
		o.catalog = pipelineCatalog
	}
	w := &world{
		fleet: f, t: t, name: "world-" + strings.ToLower(rand.Text()[:6]), dir: t.TempDir(), options: o,
		git: gittest.NewServer(t), api: api.Client{Server: "http://" + f.settings.API.Listen},
	}
	w.repo = w.git.NewRepo("shop")
	w.makeNamespace()
	w.write("catalog/catalog.yaml", o.catalog(w))
	w.writeSettings()
	t.Cleanup(func() {
		w.showLogs(t)
		for _, p := range []*stack.Process{w.serve, w.worker} {
			if p != nil && p.Alive() {
				require.NoError(t, p.Kill())
			}
		}
	})
	w.startWorker()
	w.startServe()
	return w
}

// step is a part of a test that builds upon those before it: when one fails, the
// test ends.
func (w *world) step(name string, do func(t *testing.T)) {
	whole := w.t
	whole.Helper()
	passed := whole.Run(name, func(t *testing.T) {
		w.t = t
		defer func() { w.t = whole }()
		do(t)
	})
	if !passed {
		whole.FailNow()
	}
}

// makeNamespace makes the Temporal namespace and a client of it.
func (w *world) makeNamespace() {
	w.t.Helper()
	namespaces, err := client.NewNamespaceClient(client.Options{HostPort: w.Temporal.Address, Logger: quiet{}})
	require.NoError(w.t, err)
	defer namespaces.Close()
	require.NoError(w.t, namespaces.Register(w.t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: w.name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}))
	w.temporal, err = temporalclient.Dial(w.t.Context(), temporalclient.Options{Address: w.Temporal.Address, Namespace: w.name, Logger: quiet{}, Wait: true})
	require.NoError(w.t, err)
	w.t.Cleanup(w.temporal.Close)
}

// startWorker starts tidegate-worker, at first or after killWorker.
func (w *world) startWorker() {
	w.t.Helper()
	w.worker = w.run("tidegate-worker", w.settings.Worker.Metrics+"/healthz")
}

// startServe starts `tidegate serve`, at first or after killServe.
func (w *world) startServe() {
	w.t.Helper()
	w.serve = w.run("tidegate", w.settings.Webhook.Listen+"/readyz", "serve")
}

func (w *world) run(program, ready string, args ...string) *stack.Process {
	w.t.Helper()
	argv := append([]string{filepath.Join(w.bin, program)}, args...)
	p, err := stack.Run(w.t.Context(), w.dir, stack.Command{Name: program, Argv: append(argv, "--config", w.settingsFile())}, answers("http://"+ready))
	require.NoError(w.t, err)
	return p
}

// killWorker ends the worker with SIGKILL.
func (w *world) killWorker() {
	w.t.Helper()
	require.NoError(w.t, w.worker.Kill())
	w.worker = nil
}

// killServe ends `tidegate serve` with SIGKILL.
func (w *world) killServe() {
	w.t.Helper()
	require.NoError(w.t, w.serve.Kill())
	w.serve = nil
}

// quiet drops what Temporal's SDK logs.
type quiet struct{}

var _ log.Logger = quiet{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
