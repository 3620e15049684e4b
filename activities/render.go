package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"go.temporal.io/sdk/temporal"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
	"github.com/tidegate/tidegate/internal/telemetry"
)

// Renderer turns checkouts into bundles. It holds no credentials.
type Renderer struct {
	Engine  *render.Engine
	Blobs   Blobs
	Dir     string             // holds unpacked checkouts: a cache
	Metrics *telemetry.Metrics // may be nil
}

// RenderInput names what to render, and from what.
type RenderInput struct {
	Checkouts []Checkout      `json:"checkouts"`
	Targets   []gitops.Target `json:"targets"`
}

// RenderResult has a bundle for each target.
type RenderResult struct {
	Bundles []gitops.Bundle `json:"bundles"`
	Reads   []SourceReads   `json:"reads"`
}

// SourceReads is what the renders have read of one source: an artifact with the
// list of paths, absent ones included.
type SourceReads struct {
	gitops.Ref
	Digest string `json:"digest"`
}

// Render renders every target. Targets with the same input share one render, and
// input that was rendered before is not rendered again.
func (r *Renderer) Render(ctx context.Context, in RenderInput) (RenderResult, error) {
	defer beat(ctx)()
	jobs, err := r.jobs(ctx, in)
	if err != nil {
		return RenderResult{}, classifyRender(err)
	}
	group, rendering := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for _, job := range jobs {
		group.Go(func() error { return r.run(rendering, job) })
	}
	if err := group.Wait(); err != nil {
		return RenderResult{}, classifyRender(err)
	}
	result, err := r.collect(ctx, in, jobs)
	return result, classifyRender(err)
}

// renderJob is one render and the targets that share it.
type renderJob struct {
	tree    string // folder of the unpacked checkout
	source  gitops.Source
	targets []string

	bundle gitops.Bundle
	reads  []string
}

// jobs groups the targets by what they are rendered from.
func (r *Renderer) jobs(ctx context.Context, in RenderInput) ([]*renderJob, error) {
	trees := map[gitops.Ref]string{}
	for _, c := range in.Checkouts {
		dir, err := r.tree(ctx, c.Digest)
		if err != nil {
			return nil, err
		}
		trees[c.Ref] = dir
	}
	byInput := map[string]*renderJob{}
	for _, t := range in.Targets {
		tree, ok := trees[t.Source.Ref()]
		if !ok {
			return nil, fmt.Errorf("render %s: there is no checkout of %s", t.Name, t.Source.Ref())
		}
		input, err := json.Marshal(t.Source)
		if err != nil {
			return nil, err
		}
		job := byInput[string(input)]
		if job == nil {
			job = &renderJob{tree: tree, source: t.Source}
			byInput[string(input)] = job
		}
		job.targets = append(job.targets, t.Name)
	}
	jobs := make([]*renderJob, 0, len(byInput))
	for _, key := range slices.Sorted(maps.Keys(byInput)) {
		jobs = append(jobs, byInput[key])
	}
	return jobs, nil
}

// cachedRender is a render that was done, by what it had read.
type cachedRender struct {
	Bundle gitops.Bundle `json:"bundle"`
}

// run does one render, or finds that nothing it reads has changed.
func (r *Renderer) run(ctx context.Context, job *renderJob) error {
	if found, err := r.recall(ctx, job); err != nil || found {
		return err
	}
	started := time.Now()
	rendered, err := r.Engine.Render(ctx, render.Request{Tree: job.tree, Path: job.source.Path, Directory: job.source.Directory, Kustomize: job.source.Kustomize})
	r.measure(rendered.Renderer, started, err)
	if err != nil {
		return fmt.Errorf("render %s of %s: %w", job.source.Path, job.source.Ref(), err)
	}
	digest, err := r.Blobs.Put(ctx, "bundle", rendered.Objects)
	if err != nil {
		return fmt.Errorf("keep the bundle of %s: %w", job.source.Path, err)
	}
	job.bundle, job.reads = gitops.Bundle{Digest: digest, Objects: rendered.Count}, rendered.Reads
	return r.remember(ctx, job)
}

// optionsKey identifies what is asked for, without the content it is asked of.
func (r *Renderer) optionsKey(s gitops.Source) string {
	s.RepoURL = "" // another way to the same repository changes nothing
	input, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	return r.Blobs.Store.MAC("render/"+rendererVersion, input)
}

// rendererVersion changes whenever the same input may render differently.
const rendererVersion = "1"

func (r *Renderer) recall(ctx context.Context, job *renderJob) (bool, error) {
	key := r.optionsKey(job.source)
	var reads []string
	if found, err := r.Blobs.namedJSON(ctx, "render-reads/"+key, &reads); err != nil || !found {
		return false, err
	}
	print, err := render.Fingerprint(job.tree, reads)
	if err != nil {
		return false, err
	}
	var cached cachedRender
	found, err := r.Blobs.namedJSON(ctx, "render/"+key+"/"+print, &cached)
	if found {
		job.bundle, job.reads = cached.Bundle, reads
	}
	return found, err
}

func (r *Renderer) remember(ctx context.Context, job *renderJob) error {
	key := r.optionsKey(job.source)
	print, err := render.Fingerprint(job.tree, job.reads)
	if err != nil {
		return err
	}
	if err := r.Blobs.setNamedJSON(ctx, "render/"+key+"/"+print, cachedRender{Bundle: job.bundle}); err != nil {
		return err
	}
	return r.Blobs.setNamedJSON(ctx, "render-reads/"+key, job.reads)
}

func (r *Renderer) measure(renderer string, started time.Time, err error) {
	if r.Metrics == nil {
		return
	}
	if renderer == "" {
		renderer = "unknown"
	}
	if err != nil {
		kind, _ := renderErrorType(err)
		r.Metrics.ManifestGenerationErrors.WithLabelValues(renderer, kind).Inc()
		return
	}
	r.Metrics.ManifestGenerationDuration.WithLabelValues(renderer).Observe(time.Since(started).Seconds())
}

// collect turns the renders into bundles, and keeps what they have read.
func (r *Renderer) collect(ctx context.Context, in RenderInput, jobs []*renderJob) (RenderResult, error) {
	var result RenderResult
	reads := map[gitops.Ref][]string{}
	for _, job := range jobs {
		for _, name := range job.targets {
			bundle := job.bundle
			bundle.Target = name
			result.Bundles = append(result.Bundles, bundle)
		}
		reads[job.source.Ref()] = append(reads[job.source.Ref()], job.reads...)
	}
	slices.SortFunc(result.Bundles, func(a, b gitops.Bundle) int { return strings.Compare(a.Target, b.Target) })
	for _, c := range in.Checkouts {
		paths := reads[c.Ref]
		slices.Sort(paths)
		digest, err := r.Blobs.putJSON(ctx, "reads", slices.Compact(paths))
		if err != nil {
			return result, fmt.Errorf("keep what was read of %s: %w", c.Ref, err)
		}
		result.Reads = append(result.Reads, SourceReads{Ref: c.Ref, Digest: digest})
	}
	return result, nil
}

// classifyRender is classify for errors that a source is at fault for.
func classifyRender(err error) error {
	if kind, ok := renderErrorType(err); ok {
		return temporal.NewApplicationErrorWithOptions(clip(err.Error()), kind, temporal.ApplicationErrorOptions{NonRetryable: true})
	}
	return classify(err)
}

func renderErrorType(err error) (string, bool) {
	var fault *render.Error
	if errors.As(err, &fault) {
		return string(fault.Kind), true
	}
	return ErrorUnknown, false
}
