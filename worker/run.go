package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/artifact"
	"github.com/tidegate/tidegate/internal/config"
	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/telemetry"
	"github.com/tidegate/tidegate/internal/temporalclient"
)

// stopTimeout is how long activities may go on after the worker was told to stop.
const stopTimeout = 10 * time.Second

// program is what every role is built from.
type program struct {
	settings config.Settings
	options  options
	log      *zap.Logger
	metrics  *telemetry.Metrics
	temporal client.Client
	store    *artifact.Store
}

// run builds the roles, serves their queues and returns when ctx ends or one of
// them dies.
func run(ctx context.Context, settings config.Settings, o options) error {
	log, err := telemetry.NewLogger(telemetry.LogOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = log.Sync() }()
	registry := telemetry.NewRegistry()
	store, err := artifact.Open(ctx, artifact.Options{URL: settings.Artifacts.URL, KeyFile: settings.Artifacts.KeyFile})
	if err != nil {
		return fmt.Errorf("open the artifact store: %w", err)
	}
	defer func() { _ = store.Close() }()
	temporal, err := temporalclient.Dial(ctx, temporalclient.Options{
		Address: settings.Temporal.Address, Namespace: settings.Temporal.Namespace, Logger: telemetry.TemporalLogger(log.WithOptions(zap.IncreaseLevel(zap.WarnLevel))), Metrics: telemetry.TemporalMetrics(registry), Wait: true,
	})
	if err != nil {
		return err
	}
	defer temporal.Close()
	p := program{settings: settings, options: o, log: log, metrics: telemetry.NewMetrics(registry), temporal: temporal, store: store}
	regions := map[string]*kube.Region{}
	if slices.Contains(o.roles, roleRegions) {
		if regions, err = p.openRegions(ctx); err != nil {
			return err
		}
	}
	var renders runner
	if slices.Contains(o.roles, roleRender) {
		in, closeSandbox, err := p.openSandbox(ctx, registry)
		if err != nil {
			return err
		}
		defer func() { _ = closeSandbox() }()
		renders = in
	}
	workers, err := p.workers(ctx, regions, renders)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	var ready atomic.Bool
	group.Go(func() error { return serve(ctx, settings.Worker.Metrics, telemetry.Handler(registry), &ready) })
	group.Go(func() error { return refuseTwins(ctx, log, regions, settings.Place) })
	group.Go(func() error {
		publishClasses(ctx, log, regions, activities.Blobs{Store: store}.PublishClass)
		return nil
	})
	group.Go(func() error { return serveQueues(ctx, log, workers, &ready) })
	return group.Wait()
}

// workers builds a Temporal worker for every queue of every role.
func (p program) workers(ctx context.Context, regions map[string]*kube.Region, renders runner) ([]worker.Worker, error) {
	var workers []worker.Worker
	if slices.Contains(p.options.roles, roleControl) {
		control, err := p.control(ctx)
		if err != nil {
			return nil, err
		}
		workers = append(workers, control)
	}
	if renders != nil {
		plugins, err := p.plugins()
		if err != nil {
			return nil, err
		}
		workers = append(workers, p.render(renders, plugins))
	}
	return append(workers, p.regions(regions)...), nil
}

// serveQueues polls until ctx ends.
func serveQueues(ctx context.Context, log *zap.Logger, workers []worker.Worker, ready *atomic.Bool) error {
	for i, w := range workers {
		if err := w.Start(); err != nil {
			return fmt.Errorf("start worker %d of %d: %w", i+1, len(workers), err)
		}
	}
	ready.Store(true)
	log.Info("ready", zap.Int("queues", len(workers)))
	<-ctx.Done()
	log.Info("stopping: what is under way gets " + stopTimeout.String() + " to finish")
	var stopping errgroup.Group
	for _, w := range workers {
		stopping.Go(func() error { w.Stop(); return nil })
	}
	return stopping.Wait()
}

// serve answers HTTP until ctx ends.
func serve(ctx context.Context, address string, metrics http.Handler, ready *atomic.Bool) error {
	mux := http.NewServeMux()
	mux.Handle("/metrics", metrics)
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready.Load() {
			http.Error(w, "the queues are not served yet", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	done := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer done()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}
