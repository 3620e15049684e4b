package main

import (
	"path/filepath"

	"go.temporal.io/sdk/worker"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/render"
	"github.com/tidegate/tidegate/internal/sandbox"
)

// renderSlots is how many Render activities run at the same time; each runs a
// few renderer processes.
const renderSlots = 4

// render serves the render queue.
func (p program) render() worker.Worker {
	w := worker.New(p.temporal, activities.RenderQueue, worker.Options{
		DisableWorkflowWorker: true, MaxConcurrentActivityExecutionSize: renderSlots, WorkerStopTimeout: stopTimeout, DisableRegistrationAliasing: true,
	})
	w.RegisterActivity(&activities.Renderer{
		Engine:  &render.Engine{Sandbox: sandbox.Process{}, Binary: p.settings.Render.Binary, Timeout: p.settings.Render.Timeout},
		Blobs:   activities.Blobs{Store: p.store},
		Dir:     filepath.Join(p.settings.Git.Mirrors, "checkouts"),
		Metrics: p.metrics,
	})
	return w
}
