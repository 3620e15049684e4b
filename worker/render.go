package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/render"
	"github.com/tidegate/tidegate/internal/render/plugin"
)

// renderSlots is how many Render activities run at the same time; each runs a
// few renderer processes.
const renderSlots = 4

// classPatience is how long a chart waits for the worker of its region to say
// what the region serves: longer than a start takes.
const classPatience = 15 * time.Second

// plugins reads the files of render.plugins.
func (p program) plugins() ([]plugin.Plugin, error) {
	var list []plugin.Plugin
	for _, setting := range p.settings.Render.Plugins {
		text, err := os.ReadFile(setting.File)
		if err != nil {
			return nil, fmt.Errorf("read a plugin of render.plugins: %w", err)
		}
		read, err := plugin.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", setting.File, err)
		}
		if slices.ContainsFunc(list, func(other plugin.Plugin) bool { return other.Name == read.Name }) {
			return nil, fmt.Errorf("%s: there are two plugins called %s in render.plugins; rename one, or give it another spec.version", setting.File, read.Name)
		}
		read.Root = setting.Root
		list = append(list, read)
	}
	return list, nil
}

// render serves the render queue.
func (p program) render(in runner, plugins []plugin.Plugin) worker.Worker {
	w := worker.New(p.temporal, activities.RenderQueue, worker.Options{
		DisableWorkflowWorker: true, MaxConcurrentActivityExecutionSize: renderSlots, WorkerStopTimeout: stopTimeout, DisableRegistrationAliasing: true,
	})
	w.RegisterActivity(&activities.Renderer{
		Engine:  &render.Engine{Sandbox: in, Binary: p.settings.Render.Binary, Timeout: p.settings.Render.Timeout, Plugins: plugins},
		Blobs:   activities.Blobs{Store: p.store},
		Dir:     filepath.Join(p.settings.Git.Mirrors, "checkouts"),
		Metrics: p.metrics, ClassPatience: classPatience,
	})
	return w
}
