package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/tidegate/tidegate/internal/config"
	"github.com/tidegate/tidegate/internal/sandbox"
	"github.com/tidegate/tidegate/internal/telemetry"
)

// runner runs one job and returns what it printed.
type runner interface {
	Run(ctx context.Context, job sandbox.Job) (sandbox.Result, error)
}

// openSandbox makes the sandbox of the settings. There is no falling back: a host
// that cannot keep its promises is an error that says what is missing.
func (p program) openSandbox(ctx context.Context, registry prometheus.Registerer) (_ runner, closeAll func() error, err error) {
	switch p.settings.Render.Sandbox {
	case config.SandboxNone:
		p.log.Warn("render.sandbox is none: what a repository has rendered may reach the network and this machine's files")
		return sandbox.Process{}, func() error { return nil }, nil
	case config.SandboxGVisor:
		return p.openGVisor(ctx, registry)
	default:
		return p.openNative(registry)
	}
}

func (p program) openGVisor(ctx context.Context, registry prometheus.Registerer) (_ runner, closeAll func() error, err error) {
	g, err := sandbox.NewGVisor(sandbox.GVisorOptions{Runsc: p.settings.Render.Runsc, Program: p.settings.Render.Binary})
	if err == nil {
		err = g.Try(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w; render.sandbox is %s in %s", err, config.SandboxGVisor, p.settings.File)
	}
	countSlots(registry, g.Stats)
	return g, g.Close, nil
}

func (p program) openNative(registry prometheus.Registerer) (_ runner, closeAll func() error, err error) {
	native, err := sandbox.NewNative(sandbox.Options{
		Program: p.settings.Render.Binary, Idle: p.settings.Render.Slots, Observer: slotObserver{p.metrics, p.log},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%w; to render without a sandbox, where every repository is trusted, set render.sandbox to %s in %s",
			err, config.SandboxNone, p.settings.File)
	}
	countSlots(registry, native.Stats)
	return native, native.Close, nil
}

func countSlots(registry prometheus.Registerer, stats func() sandbox.Stats) {
	telemetry.CountSlots(registry, func() (idle, busy int) {
		s := stats()
		return s.Idle, s.Busy
	})
}

// slotObserver turns what happens to sandboxes into metrics and warnings.
type slotObserver struct {
	metrics *telemetry.Metrics
	log     *zap.Logger
}

func (o slotObserver) SlotTaken(wait time.Duration) { o.metrics.SandboxWait.Observe(wait.Seconds()) }

func (o slotObserver) SlotReplaced(err error) {
	result := "started"
	if err != nil && !errors.Is(err, context.Canceled) {
		result = "failed"
		o.log.Warn("a sandbox could not be started; it is tried again", zap.Error(err))
	}
	o.metrics.SandboxSlots.WithLabelValues(result).Inc()
}
