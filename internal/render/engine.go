package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tidegate/tidegate/internal/render/plugin"
	"github.com/tidegate/tidegate/internal/sandbox"
)

// runner runs one job and returns what it printed.
type runner interface {
	Run(ctx context.Context, job sandbox.Job) (sandbox.Result, error)
}

// Engine renders by running the renderer program in a sandbox.
type Engine struct {
	Sandbox runner
	Binary  string        // of the renderer program; looked up in PATH when it has no slash
	Timeout time.Duration // of one render; the sandbox's default when it is zero
	// Plugins are what folders may be rendered by besides, the first that a folder is
	// for.
	Plugins []plugin.Plugin

	mu      sync.Mutex
	version version
}

// What one render may take.
const (
	maxOutput    = 64 << 20
	maxMemory    = 512 << 20
	maxProcesses = 256
	maxTmp       = 256 << 20
)

// Render runs one request. The error is an *Error when the source is at fault;
// what was read, and by which renderer, is in the result then as well, as far as
// it is known.
func (e *Engine) Render(ctx context.Context, r Request) (Result, error) {
	if len(r.Refs) > sandbox.MaxMounts {
		return Result{}, &Error{Kind: KindBuild, File: r.Path, Message: fmt.Sprintf("it refers to %d things elsewhere; %d are possible: split the application, or commit some of them", len(r.Refs), sandbox.MaxMounts)}
	}
	if r.Plugin != nil {
		return e.renderPlugin(ctx, r)
	}
	return e.run(ctx, r)
}

// job is what every job of a request has.
func (e *Engine) job(r Request) sandbox.Job {
	return sandbox.Job{Path: e.Binary, Dir: r.Tree, Mounts: mounts(r.Refs), Limits: sandbox.Limits{
		Wall: e.Timeout, Output: maxOutput, Memory: maxMemory, Processes: maxProcesses, Tmp: maxTmp,
	}}
}

// run has the renderer program answer a request.
func (e *Engine) run(ctx context.Context, r Request) (Result, error) {
	input, err := json.Marshal(r)
	if err != nil {
		return Result{}, fmt.Errorf("encode the render request: %w", err)
	}
	job := e.job(r)
	job.Stdin = input
	answer, err := e.Sandbox.Run(ctx, job)
	if err != nil {
		return Result{}, e.blame(r, err)
	}
	result, err := ReadResult(answer.Output)
	if err != nil {
		return Result{}, fmt.Errorf("read the answer of %s for %s: %w; is it of the same release as this worker?", e.Binary, r.Path, err)
	}
	if result.Error != nil {
		return result, result.Error
	}
	return result, nil
}

func mounts(refs map[string]string) []sandbox.Mount {
	list := make([]sandbox.Mount, 0, len(refs))
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		list = append(list, sandbox.Mount{Name: name, Dir: refs[name]})
	}
	return list
}

// blame says whether the source or the machine is at fault for a bad end.
func (e *Engine) blame(r Request, err error) error {
	fault := &Error{File: r.Path}
	switch {
	case errors.Is(err, sandbox.ErrTimeout):
		fault.Kind, fault.Message = KindTimeout, fmt.Sprintf("rendering took longer than %s; make it smaller, or raise render.timeout in the settings", e.Timeout)
	case errors.Is(err, sandbox.ErrOutputLimit):
		fault.Kind, fault.Message = KindOutput, fmt.Sprintf("it renders to more than %d MiB; split the application", maxOutput>>20)
	case errors.Is(err, sandbox.ErrMemoryLimit):
		fault.Kind, fault.Message = KindMemory, fmt.Sprintf("rendering takes more than %d MiB of memory; split the application", maxMemory>>20)
	case errors.Is(err, sandbox.ErrProcessLimit):
		fault.Kind, fault.Message = KindProcesses, fmt.Sprintf("rendering starts more than %d processes and threads", maxProcesses)
	case errors.Is(err, sandbox.ErrTmpLimit):
		fault.Kind, fault.Message = KindTmp, fmt.Sprintf("rendering keeps more than %d MiB in its temporary folder", maxTmp>>20)
	case errors.Is(err, sandbox.ErrCrashed):
		// What it wrote to standard error may quote a Secret.
		fault.Kind, fault.Message = KindCrash, "the renderer crashed on it: "+err.Error()
	default:
		return fmt.Errorf("run the renderer %s: %w", e.Binary, err)
	}
	return fault
}
