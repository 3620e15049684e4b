package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
	"github.com/tidegate/tidegate/internal/render/checkout"
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
}

// RenderInput names what to render, and from what.
type RenderInput struct {
	Checkouts []Checkout      `json:"checkouts"`
	Targets   []gitops.Target `json:"targets"`
}

// RenderResult has a bundle for each target, in the order of their names.
type RenderResult struct {
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
	jobs, done, err := r.jobs(ctx, in)
	defer done()
	if err != nil {
		return RenderResult{}, classifyRender(err, nil)
	}
	group, rendering := errgroup.WithContext(ctx)
	group.SetLimit(rendersAtOnce)
	for _, job := range jobs {
		group.Go(func() error { return r.run(rendering, job) })
	}
	failed := group.Wait()
	reads, err := r.reads(ctx, in, jobs)
	if failed != nil {
		return RenderResult{}, classifyRender(failed, reads)
	}
	if err != nil {
		return RenderResult{}, classifyRender(err, nil)
	}
	return RenderResult{Bundles: bundles(jobs), Reads: reads}, nil
}

// renderJob is one render and the targets that share it.
type renderJob struct {
	tree    string // folder of the unpacked checkout
	source  gitops.Source
	key     string // what is asked for and by whom, without the content it is asked of
	refs    []gitops.Ref
	targets []string

	bundle gitops.Bundle
	reads  []string // nil when it is not known
}

// jobs groups the targets by what they are rendered from. What it unpacks stays
// until done is called.
func (r *Renderer) jobs(ctx context.Context, in RenderInput) (jobs []*renderJob, done func(), err error) {
	var open []*checkout.Tree
	done = func() {
		for _, tree := range open {
			_ = tree.Close() // only a lock
		}
	}
	version, err := r.Engine.Version()
	if err != nil {
		return nil, done, err
	}
	cache := checkout.Cache{Dir: r.Dir}
	trees := map[gitops.Ref]string{}
	for _, c := range in.Checkouts {
		tree, err := cache.Open(ctx, c.Digest, r.Blobs.Get)
		if err != nil {
			return nil, done, fmt.Errorf("check out %s: %w", c.Ref, err)
		}
		open, trees[c.Ref] = append(open, tree), tree.Dir
	}
	byInput := map[string]*renderJob{}
	for _, t := range in.Targets {
		ref := t.Source.Ref()
		tree, ok := trees[ref]
		if !ok {
			return nil, done, fmt.Errorf("render %s: there is no checkout of %s", t.Name, ref)
		}
		key, err := r.key(version, t.Source)
		if err != nil {
			return nil, done, err
		}
		job := byInput[tree+key]
		if job == nil {
			job = &renderJob{tree: tree, source: t.Source, key: key}
			byInput[tree+key], jobs = job, append(jobs, job)
		}
		job.targets = append(job.targets, t.Name)
		if !slices.Contains(job.refs, ref) {
			job.refs = append(job.refs, ref)
		}
	}
	return jobs, done, nil
}

// key identifies a render up to the content that it reads.
func (r *Renderer) key(version string, s gitops.Source) (string, error) {
	input, err := json.Marshal([]any{version, s.Repository, s.Path, s.Directory, s.Kustomize})
	if err != nil {
		return "", fmt.Errorf("encode the options of %s: %w", s.Path, err)
	}
	return r.Blobs.Store.MAC("render", input), nil
}

// run does one render, or finds that nothing it reads has changed.
func (r *Renderer) run(ctx context.Context, job *renderJob) error {
	if found, err := r.recall(ctx, job); err != nil || found {
		return err
	}
	started := time.Now()
	rendered, err := r.Engine.Render(ctx, render.Request{
		Tree: job.tree, Path: job.source.Path, Directory: job.source.Directory, Kustomize: job.source.Kustomize,
	})
	r.measure(rendered.Renderer, started, err)
	job.reads = rendered.Reads
	if err != nil {
		return fmt.Errorf("render %s of %s: %w", job.source.Path, job.source.Ref(), err)
	}
	digest, err := r.Blobs.Put(ctx, "bundle", rendered.Objects)
	if err != nil {
		return fmt.Errorf("keep the bundle of %s: %w", job.source.Path, err)
	}
	job.bundle = gitops.Bundle{Digest: digest, Objects: rendered.Count}
	return r.remember(ctx, job)
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

// bundles gives each target the bundle of its render.
func bundles(jobs []*renderJob) []gitops.Bundle {
	var list []gitops.Bundle
	for _, job := range jobs {
		for _, name := range job.targets {
			bundle := job.bundle
			bundle.Target = name
			list = append(list, bundle)
		}
	}
	slices.SortFunc(list, func(a, b gitops.Bundle) int { return strings.Compare(a.Target, b.Target) })
	return list
}

// reads keeps what was read of each source. Of a render that did not come to an
// end everything counts as read.
func (r *Renderer) reads(ctx context.Context, in RenderInput, jobs []*renderJob) ([]SourceReads, error) {
	paths := map[gitops.Ref][]string{}
	for _, job := range jobs {
		for _, ref := range job.refs {
			if job.reads == nil {
				paths[ref] = append(paths[ref], ".")
			}
			paths[ref] = append(paths[ref], job.reads...)
		}
	}
	result := make([]SourceReads, 0, len(in.Checkouts))
	for _, c := range in.Checkouts {
		list := paths[c.Ref]
		slices.Sort(list)
		digest, err := r.Blobs.putJSON(ctx, "reads", slices.Compact(list))
		if err != nil {
			return nil, fmt.Errorf("keep what was read of %s: %w", c.Ref, err)
		}
		result = append(result, SourceReads{Ref: c.Ref, Digest: digest})
	}
	return result, nil
}
