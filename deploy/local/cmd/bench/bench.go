package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/tidegate/tidegate/deploy/local/stack"
	"github.com/tidegate/tidegate/internal/config"
	apiclient "github.com/tidegate/tidegate/starter/client"
)

// bench is one run.
type bench struct {
	options
	bin      string
	stack    *stack.Stack
	settings config.Settings
	api      apiclient.Client
	temporal client.Client
	floor    *floor
	repo     string // work tree
	result   result
	applied  map[string]string // what the bare loop applied last
}

func newBench(ctx context.Context, o options, bin string, s *stack.Stack) (*bench, error) {
	settings, err := config.Load(s.Settings)
	if err != nil {
		return nil, err
	}
	b := &bench{options: o, bin: bin, stack: s, settings: settings}
	b.api = apiclient.Client{Server: "http://" + settings.API.Listen}
	if b.floor, err = newFloor(ctx, s); err != nil {
		return nil, err
	}
	if b.temporal, err = client.DialContext(ctx, client.Options{HostPort: settings.Temporal.Address, Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))}); err != nil {
		return nil, err
	}
	if err := b.makeRepository(ctx); err != nil {
		return nil, err
	}
	if err := b.startWorker(ctx); err != nil {
		return nil, err
	}
	_, err = b.start(ctx, "tidegate-serve", b.settings.Metrics.Listen, "tidegate", "serve")
	return b, err
}

func (b *bench) startWorker(ctx context.Context) error {
	_, err := b.start(ctx, "tidegate-worker", b.settings.Worker.Metrics, "tidegate-worker")
	return err
}

func (b *bench) start(ctx context.Context, name, listen string, argv ...string) (*stack.Process, error) {
	argv[0] = filepath.Join(b.bin, argv[0])
	return stack.Run(ctx, b.stack.Dir, stack.Command{Name: name, Argv: append(argv, "--config", b.stack.Settings)}, ready("http://"+listen+"/readyz"))
}

// makeRepository makes the repository and the catalog: one ApplicationSet over
// all regions, one Pipeline of one stage without a gate.
func (b *bench) makeRepository(ctx context.Context) error {
	bare := filepath.Join(b.settings.Git.FileRoot, "bench.git")
	b.repo = filepath.Join(b.settings.Git.FileRoot, "bench")
	for _, args := range [][]string{{"init", "--quiet", "--bare", "--initial-branch=main", bare}, {"clone", "--quiet", bare, b.repo}} {
		if err := git(ctx, "", args...); err != nil {
			return err
		}
	}
	catalog := strings.ReplaceAll(catalogText, "REPOSITORY", "file://"+bare)
	return os.WriteFile(filepath.Join(b.settings.Catalog.Path, "bench.yaml"), []byte(catalog), 0o600)
}

const catalogText = `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: bench}
spec:
  generators: [{clusters: {}}]
  template:
    metadata: {name: 'bench-{{name}}'}
    spec:
      project: default
      source: {repoURL: REPOSITORY, targetRevision: main, path: app}
      destination: {name: '{{name}}', namespace: bench}
      syncPolicy: {automated: {prune: true}, syncOptions: [CreateNamespace=true]}
---
apiVersion: tidegate.dev/v1alpha1
kind: Pipeline
metadata: {name: bench}
spec:
  applicationSet: bench
  stages: [{name: all, selector: {}}]
`

// commit writes the work's files and commits them; it returns the commit.
func (b *bench) commit(ctx context.Context, w work) (string, error) {
	for name, content := range w.files(b.configMaps, b.deployments) {
		file := filepath.Join(b.repo, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			return "", err
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	if err := git(ctx, b.repo, "add", "--all"); err != nil {
		return "", err
	}
	if err := git(ctx, b.repo, "-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "--quiet", "--message", "work"); err != nil {
		return "", err
	}
	head, err := exec.CommandContext(ctx, "git", "-C", b.repo, "rev-parse", "HEAD").Output()
	return strings.TrimSpace(string(head)), err
}

func git(ctx context.Context, dir string, args ...string) error {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
