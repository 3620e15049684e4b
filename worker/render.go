package main

import (
	"path/filepath"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/render"
)

// renderSlots is how many Render activities run at the same time; each runs a
// few renderer processes.
const renderSlots = 4

// classPatience is how long a chart waits for the worker of its region to say
// what the region serves: longer than a start takes.
const classPatience = 15 * time.Second

// render serves the render queue.
func (p program) render(in runner) worker.Worker {
	w := worker.New(p.temporal, activities.RenderQueue, worker.Options{
		DisableWorkflowWorker: true, MaxConcurrentActivityExecutionSize: renderSlots, WorkerStopTimeout: stopTimeout, DisableRegistrationAliasing: true,
	})
	w.RegisterActivity(&activities.Renderer{
		Engine:  &render.Engine{Sandbox: in, Binary: p.settings.Render.Binary, Timeout: p.settings.Render.Timeout},
		Blobs:   activities.Blobs{Store: p.store},
		Dir:     filepath.Join(p.settings.Git.Mirrors, "checkouts"),
		Metrics: p.metrics, ClassPatience: classPatience,
	})
	return w
}
