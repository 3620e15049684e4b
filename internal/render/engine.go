package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tidegate/tidegate/internal/sandbox"
)

// runner runs one job and returns what it printed.
type runner interface {
	Run(ctx context.Context, job sandbox.Job) (sandbox.Result, error)
}

// Engine renders by running the renderer program in a sandbox.
type Engine struct {
	Sandbox runner
	Binary  string        // of the renderer program
	Timeout time.Duration // of one render
}

// maxOutput bounds the manifests of one render.
const maxOutput = 64 << 20

// Render runs one request. The error is an *Error when the source is at fault.
func (e *Engine) Render(ctx context.Context, r Request) (Result, error) {
	input, err := json.Marshal(r)
	if err != nil {
		return Result{}, fmt.Errorf("encode the render request: %w", err)
	}
	output, err := e.Sandbox.Run(ctx, sandbox.Job{
		Path: e.Binary, Stdin: input, Dir: r.Tree, Limits: sandbox.Limits{Wall: e.Timeout, Output: maxOutput},
	})
	if err != nil {
		return Result{}, e.blame(ctx, r, err)
	}
	var result Result
	if err := json.Unmarshal(output.Output, &result); err != nil {
		return Result{}, fmt.Errorf("read the renderer's answer for %s: %w", r.Path, err)
	}
	if result.Error != nil {
		return result, result.Error
	}
	return result, nil
}

// blame says whether the source or the machine is at fault for a bad end.
func (e *Engine) blame(ctx context.Context, r Request, err error) error {
	var crash *sandbox.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, sandbox.ErrTimeout):
		return &Error{Kind: KindTimeout, File: r.Path, Message: fmt.Sprintf("rendering took longer than %s; make it smaller, or raise render.timeout in the settings", e.Timeout)}
	case errors.Is(err, sandbox.ErrOutputLimit):
		return &Error{Kind: KindTooLarge, File: r.Path, Message: fmt.Sprintf("more than %d MiB of manifests; split the application", maxOutput>>20)}
	case errors.Is(err, sandbox.ErrStart):
		return fmt.Errorf("run the renderer %s: %w", e.Binary, err)
	case errors.As(err, &crash):
		return &Error{Kind: KindCrash, File: r.Path, Message: "the renderer crashed: " + crash.Error()}
	default:
		return fmt.Errorf("run the renderer %s: %w", e.Binary, err)
	}
}
