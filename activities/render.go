package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
	"github.com/tidegate/tidegate/internal/telemetry"
)

// rendersAtOnce bounds the renderer processes of one activity.
const rendersAtOnce = 2

// Renderer turns checkouts into bundles. It holds no credentials.
type Renderer struct {
	Engine  *render.Engine
	Blobs   Blobs
	Dir     string             // holds unpacked checkouts: a cache
	Metrics *telemetry.Metrics // may be nil
	// ClassPatience is how long a chart waits for word of what its region serves.
	ClassPatience time.Duration
}

// RenderInput names what to render, and from what.
type RenderInput struct {
	Checkouts []Checkout      `json:"checkouts"`
	Targets   []gitops.Target `json:"targets"`
	// Provided is what earlier attempts have asked for.
	Provided []Provided `json:"provided,omitempty"`
}

// RenderResult has a bundle for each target, in the order of their names, or what
// must be fetched before there can be any.
type RenderResult struct {
	Needs   []JobNeed       `json:"needs,omitempty"`
	Bundles []gitops.Bundle `json:"bundles"`
	Reads   []SourceReads   `json:"reads"`
}

// SourceReads is what the renders have read of one source: an artifact with the
// sorted list of paths, absent ones included, as render.Digest takes it.
type SourceReads struct {
	gitops.Ref
	Digest string `json:"digest"`
}

// RenderFailure is the details of an error that a source is at fault for: a
// change to what was read may mend it.
type RenderFailure struct {
	Reads []SourceReads `json:"reads"`
}

// Render renders every target. Targets with the same input share one render, and
// input that was rendered before is not rendered again.
func (r *Renderer) Render(ctx context.Context, in RenderInput) (RenderResult, error) {
	defer beat(ctx)()
	work, err := r.split(ctx, in)
	defer work.done()
	if err != nil {
		return RenderResult{}, classifyRender(err, nil)
	}
	group, rendering := errgroup.WithContext(ctx)
	group.SetLimit(rendersAtOnce)
	for _, job := range work.jobs {
		group.Go(func() error { return r.run(rendering, job) })
	}
	failed := group.Wait()
	reads, err := r.reads(ctx, in, work)
	if failed != nil {
		return RenderResult{}, classifyRender(failed, reads)
	}
	if err != nil {
		return RenderResult{}, classifyRender(err, nil)
	}
	if needs := work.needs(); len(needs) > 0 {
		return RenderResult{Needs: needs, Reads: reads}, nil
	}
	bundles, err := r.bundles(ctx, work)
	return RenderResult{Bundles: bundles, Reads: reads}, classifyRender(err, nil)
}

// run does one render, or finds that nothing it reads has changed.
func (r *Renderer) run(ctx context.Context, job *renderJob) error {
	found, err := r.recall(ctx, job)
	if err == nil {
		r.countLookup(found)
	}
	if err != nil || found {
		return err
	}
	started := time.Now()
	rendered, err := r.Engine.Render(ctx, render.Request{
		Tree: job.tree, Path: job.source.Path, Directory: job.source.Directory, Kustomize: job.source.Kustomize,
		Helm: job.source.Helm, Release: job.release, Refs: job.dirs(), Plugin: job.plugin, Substitute: job.substitute,
	})
	if job.needs = rendered.Needs; len(job.needs) > 0 {
		return nil
	}
	r.measure(rendered.Renderer, started, err)
	job.reads, job.refReads = rendered.Reads, rendered.RefReads
	switch {
	case job.plugin != nil:
		job.reads = pluginReads(job.source)
	case job.reads != nil && r.Engine.Discovers():
		job.reads = append(job.reads, job.source.Path) // another file may make it a plugin's
	}
	if err != nil {
		return fmt.Errorf("render %s of %s: %w", job.source.Path, job.source.Ref(), err)
	}
	digest, err := r.Blobs.Put(ctx, "bundle", rendered.Objects)
	if err != nil {
		return fmt.Errorf("keep the bundle of %s: %w", job.source.Path, err)
	}
	job.bundle = gitops.Bundle{Digest: digest, Objects: rendered.Count, Unstable: rendered.Unstable[:min(len(rendered.Unstable), maxUnstable)]}
	return r.remember(ctx, job)
}

// maxUnstable is how many unstable calls are noted: one is enough to look at the chart.
const maxUnstable = 5

func (r *Renderer) countLookup(found bool) {
	result := map[bool]string{true: "hit", false: "miss"}[found]
	if r.Metrics != nil {
		r.Metrics.RenderCacheLookups.WithLabelValues(result).Inc()
	}
}

func (r *Renderer) measure(renderer string, started time.Time, err error) {
	if renderer == "" {
		renderer = "unknown"
	}
	switch {
	case r.Metrics == nil || errors.Is(err, context.Canceled):
	case err != nil:
		kind, _ := renderErrorClass(err)
		r.Metrics.ManifestGenerationErrors.WithLabelValues(renderer, kind).Inc()
	default:
		r.Metrics.ManifestGenerationDuration.WithLabelValues(renderer).Observe(time.Since(started).Seconds())
	}
}
