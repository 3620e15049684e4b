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
func (p program) openSandbox(registry prometheus.Registerer) (_ runner, closeAll func() error, err error) {
	if p.settings.Render.Sandbox == config.SandboxNone {
		p.log.Warn("render.sandbox is none: what a repository has rendered may reach the network and this machine's files")
		return sandbox.Process{}, func() error { return nil }, nil
	}
	native, err := sandbox.NewNative(sandbox.Options{
		Program: p.settings.Render.Binary, Idle: p.settings.Render.Slots, Observer: slotObserver{p.metrics, p.log},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%w; to render without a sandbox, where every repository is trusted, set render.sandbox to %s in %s",
			err, config.SandboxNone, p.settings.File)
	}
	telemetry.CountSlots(registry, func() (idle, busy int) {
		s := native.Stats()
		return s.Idle, s.Busy
	})
	return native, native.Close, nil
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
