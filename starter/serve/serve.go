// Package serve is `tidegate serve`: the listeners for Git hosts, users and
// Prometheus, and the watch over the workflows that must always run.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.temporal.io/sdk/client"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/tidegate/tidegate/internal/artifact"
	"github.com/tidegate/tidegate/internal/config"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/telemetry"
	"github.com/tidegate/tidegate/internal/temporalclient"
	"github.com/tidegate/tidegate/internal/webhook"
	"github.com/tidegate/tidegate/starter/api"
	"github.com/tidegate/tidegate/starter/flows"
	"github.com/tidegate/tidegate/starter/hook"
	"github.com/tidegate/tidegate/starter/shelf"
	"github.com/tidegate/tidegate/workflows"
)

// Options are what serving takes.
type Options struct {
	Settings config.Settings
	Version  string // of Tidegate
	Log      *zap.Logger
}

// Run serves until ctx ends, then lets requests that are under way finish. It
// waits for Temporal; metrics and health are answered meanwhile.
func Run(ctx context.Context, o Options) error {
	registry := telemetry.NewRegistry()
	metrics := telemetry.NewMetrics(registry)
	store, err := artifact.Open(ctx, artifact.Options{URL: o.Settings.Artifacts.URL, KeyFile: o.Settings.Artifacts.KeyFile})
	if err != nil {
		return fmt.Errorf("open the artifact store: %w", err)
	}
	defer func() { _ = store.Close() }()
	health := &health{checks: []check{{"temporal", waitingForTemporal}}}

	group, ctx := errgroup.WithContext(ctx)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", telemetry.Handler(registry))
	health.register(mux)
	if err := listen(ctx, group, listener{name: "metrics", address: o.Settings.Metrics.Listen, handler: mux, log: o.Log}); err != nil {
		return err
	}
	group.Go(func() error {
		temporal, err := temporalclient.Dial(ctx, temporalclient.Options{
			Address: o.Settings.Temporal.Address, Namespace: o.Settings.Temporal.Namespace, Wait: true,
			Logger: telemetry.TemporalLogger(o.Log), Metrics: telemetry.TemporalMetrics(registry),
		})
		if err != nil {
			return err
		}
		defer temporal.Close()
		p := program{Options: o, metrics: metrics, temporal: temporal, shelf: shelf.New(store), health: health}
		return p.run(ctx)
	})
	if err := group.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// program is what runs once Temporal is there.
type program struct {
	Options
	metrics  *telemetry.Metrics
	temporal client.Client
	shelf    *shelf.Shelf
	health   *health
}

// run serves webhooks and the API until ctx ends.
func (p program) run(ctx context.Context) error {
	p.registerAttributes(ctx)
	talk := flows.Client{Temporal: p.temporal, Answers: flows.NewAnswers(maxAnswers)}
	secret := []byte(p.Settings.Webhook.GithubSecret.Reveal())
	if len(secret) == 0 {
		p.Log.Warn("webhook.githubSecret is not set: every webhook is refused, and pushes are found by polling only")
	}
	webhooks := http.NewServeMux()
	webhooks.Handle("/", hook.New(hook.Options{
		GitHub: webhook.GitHub{Secret: secret}, Sender: talk, Catalog: p.shelf, Identity: gitops.RepositoryIdentity, Metrics: p.metrics, Log: p.Log,
	}))
	p.health.register(webhooks)
	verbs := api.New(api.Options{Asker: talk, Teller: talk, Shelf: p.shelf, Version: p.Version})

	group, ctx := errgroup.WithContext(ctx)
	for _, l := range []listener{
		{name: "webhook", address: p.Settings.Webhook.Listen, handler: webhooks, log: p.Log},
		{name: "api", address: p.Settings.API.Listen, handler: verbs, log: p.Log},
	} {
		if err := listen(ctx, group, l); err != nil {
			return err
		}
	}
	keeper := &flows.Keeper{Client: talk}
	group.Go(func() error { return keepRunning(ctx, keeper.Ensure, ensureEvery, p.Log) })
	p.health.set(check{"temporal", talk.Ready}, check{"artifacts", p.shelf.Ready})
	p.Log.Info("ready")
	<-ctx.Done()
	p.Log.Info("stopping: requests that are under way get " + stopTimeout.String() + " to finish")
	return group.Wait()
}

// registerAttributes makes Temporal accept what workflows are started with. Without
// the right to do so it must have been done by somebody else.
func (p program) registerAttributes(ctx context.Context) {
	if err := temporalclient.EnsureSearchAttributes(ctx, p.temporal, p.Settings.Temporal.Namespace, workflows.SearchAttributes()); err != nil {
		p.Log.Warn("register search attributes", zap.Error(err))
	}
}

// maxAnswers is how many answers of workflows are remembered: a few KiB each.
const maxAnswers = 4096

// ensureEvery is how soon a workflow that must always run, and was terminated,
// is started again.
const ensureEvery = 5 * time.Second

// keepRunning calls ensure again and again until ctx ends. It logs the first of
// a row of errors.
func keepRunning(ctx context.Context, ensure func(context.Context) error, every time.Duration, log *zap.Logger) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	failing := false
	for {
		err := ensure(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			log.Warn("the workflows that must always run cannot be looked after; tried again every "+every.String(), zap.Error(err))
		}
		failing = err != nil
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}
