package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
	"github.com/tidegate/tidegate/internal/render/checkout"
)

// renderJob is one render and the targets that share it.
type renderJob struct {
	tree    string // folder of the unpacked checkout
	source  gitops.Source
	release render.Release
	plugin  *render.PluginCall // nil when the renderer program itself renders it
	// substitute are the values of ${NAME} in what is rendered.
	substitute map[string]string
	others     map[string]otherTree // by the names that the options have for them
	id         string               // of what is asked for and by whom, before anything is provided
	key        string               // what is asked for and by whom, without the content it is asked of
	refs       []gitops.Ref

	bundle   gitops.Bundle
	reads    []string // nil when it is not known
	refReads map[string][]string
	needs    []gitops.Need // what must be fetched first
}

// otherTree is the unpacked checkout of another source, whose files are used.
type otherTree struct {
	dir string
	ref gitops.Ref
}

func (j *renderJob) dirs() map[string]string {
	dirs := map[string]string{}
	for name, other := range j.others {
		dirs[name] = other.dir
	}
	return dirs
}

// renderWork is all that an activity has to render.
type renderWork struct {
	trees   map[gitops.Ref]string
	commits map[gitops.Ref]string
	open    []*checkout.Tree
	jobs    []*renderJob
	byKey   map[string]*renderJob
	parts   map[string][]*renderJob // of each target, in the order of its sources
	// looked are the files that were looked for before there were jobs.
	looked map[gitops.Ref][]string
	// provided are the trees that jobs have asked for, by the jobs' ids and the
	// needs' names.
	provided map[string]map[string]otherTree
}

// done gives back what was unpacked.
func (w *renderWork) done() {
	for _, tree := range w.open {
		_ = tree.Close() // only a lock
	}
}

// split groups the sources of the targets by what they are rendered from. What it
// unpacks stays until done is called.
func (r *Renderer) split(ctx context.Context, in RenderInput) (*renderWork, error) {
	w := &renderWork{trees: map[gitops.Ref]string{}, commits: map[gitops.Ref]string{}, byKey: map[string]*renderJob{}, parts: map[string][]*renderJob{}, looked: map[gitops.Ref][]string{}, provided: map[string]map[string]otherTree{}}
	version, err := r.Engine.Version()
	if err != nil {
		return w, err
	}
	cache := checkout.Cache{Dir: r.Dir}
	for _, c := range in.Checkouts {
		tree, err := cache.Open(ctx, c.Digest, r.Blobs.Get)
		if err != nil {
			return w, fmt.Errorf("check out %s: %w", c.Ref, err)
		}
		w.open, w.trees[c.Ref], w.commits[c.Ref] = append(w.open, tree), tree.Dir, c.Commit
	}
	if err := r.openProvided(ctx, w, in.Provided); err != nil {
		return w, err
	}
	for _, t := range in.Targets {
		for _, s := range t.Sources() {
			if !s.IsRendered() {
				continue
			}
			if err := r.add(ctx, w, version, t, s); err != nil {
				return w, fmt.Errorf("render %s: %w", t.Name, err)
			}
		}
	}
	return w, nil
}

// add adds one source of a target to the job that renders it.
func (r *Renderer) add(ctx context.Context, w *renderWork, version string, t gitops.Target, s gitops.Source) error {
	tree, ok := w.trees[s.Ref()]
	if !ok {
		return fmt.Errorf("there is no checkout of %s", s.Ref())
	}
	w.looked[s.Ref()] = append(w.looked[s.Ref()], overrideNames(s, t.Name)...)
	s, err := override(s, tree, t.Name)
	if err != nil {
		return err
	}
	env := environment(t, s, w.commits[s.Ref()])
	s = expand(s, env)
	job := &renderJob{tree: tree, source: s, substitute: t.Substitute}
	if job.plugin, err = r.pluginCall(ctx, t, s, tree, env); err != nil {
		return err
	}
	others, err := w.others(t, s)
	if err != nil {
		return err
	}
	job.others = others
	if job.plugin == nil {
		job.release, err = r.releaseOf(ctx, t, s, tree)
	}
	if err != nil {
		return err
	}
	if job.id, err = r.key(version, job); err != nil {
		return err
	}
	job.key = job.id
	if provided := w.provided[job.id]; len(provided) > 0 {
		job.others = merged(others, provided)
		if job.key, err = r.key(version, job); err != nil {
			return err
		}
	}
	input := fmt.Sprint(tree, job.key, job.dirs())
	if known := w.byKey[input]; known != nil {
		job = known
	} else {
		w.byKey[input], w.jobs = job, append(w.jobs, job)
	}
	if !slices.Contains(job.refs, s.Ref()) {
		job.refs = append(job.refs, s.Ref())
	}
	w.parts[t.Name] = append(w.parts[t.Name], job)
	return nil
}

// others are the trees of the sources whose files a source's options name.
func (w *renderWork) others(t gitops.Target, s gitops.Source) (map[string]otherTree, error) {
	if s.Helm == nil {
		return nil, nil
	}
	found := map[string]otherTree{}
	for _, file := range s.Helm.Files() {
		name, ok := gitops.RefOf(file)
		if !ok {
			continue
		}
		for _, other := range t.Sources() {
			if other.RefName != name {
				continue
			}
			dir, ok := w.trees[other.Ref()]
			if !ok {
				return nil, fmt.Errorf("there is no checkout of %s", other.Ref())
			}
			found[name] = otherTree{dir, other.Ref()}
		}
	}
	return found, nil
}

// key identifies a render up to the content that it reads.
func (r *Renderer) key(version string, job *renderJob) (string, error) {
	s, others := job.source, map[string]string{}
	for name, other := range job.others {
		others[name] = other.ref.Repository
	}
	var paths []string
	if job.plugin != nil { // what it reads is what they say
		paths = s.GeneratePaths
	}
	input, err := json.Marshal([]any{version, s.Repository, s.Path, s.Directory, s.Kustomize, s.Helm, job.release, others, job.plugin, paths, job.substitute})
	if err != nil {
		return "", fmt.Errorf("encode the options of %s: %w", s.Path, err)
	}
	return r.Blobs.Store.MAC("render", input), nil
}

// bundles gives each target the bundle of its render, or what several renders are
// together.
func (r *Renderer) bundles(ctx context.Context, w *renderWork) ([]gitops.Bundle, error) {
	var list []gitops.Bundle
	for name, jobs := range w.parts {
		bundle := jobs[0].bundle
		if len(jobs) > 1 {
			merged, err := r.merge(ctx, jobs)
			if err != nil {
				return nil, fmt.Errorf("join the sources of %s: %w", name, err)
			}
			bundle = merged
		}
		bundle.Target = name
		list = append(list, bundle)
	}
	slices.SortFunc(list, func(a, b gitops.Bundle) int { return strings.Compare(a.Target, b.Target) })
	return list, nil
}

// merge joins the objects of several renders. One that a later render has too
// replaces the earlier, as in Argo CD.
func (r *Renderer) merge(ctx context.Context, jobs []*renderJob) (gitops.Bundle, error) {
	lists := make([][]byte, 0, len(jobs))
	var unstable []string
	for _, job := range jobs {
		unstable = append(unstable, job.bundle.Unstable...)
		objects, err := r.Blobs.Get(ctx, job.bundle.Digest)
		if err != nil {
			return gitops.Bundle{}, err
		}
		lists = append(lists, objects)
	}
	objects, count, err := render.Join(lists)
	if err != nil {
		return gitops.Bundle{}, err
	}
	digest, err := r.Blobs.Put(ctx, "bundle", objects)
	return gitops.Bundle{Digest: digest, Objects: count, Unstable: unstable}, err
}

// reads keeps what was read of each source. Of a render that did not come to an
// end everything counts as read.
func (r *Renderer) reads(ctx context.Context, in RenderInput, w *renderWork) ([]SourceReads, error) {
	paths := maps.Clone(w.looked)
	note := func(ref gitops.Ref, reads []string, known bool) {
		if !known {
			reads = []string{"."}
		}
		paths[ref] = append(paths[ref], reads...)
	}
	for _, job := range w.jobs {
		for _, ref := range job.refs {
			note(ref, job.reads, job.reads != nil)
		}
		for name, other := range job.others {
			note(other.ref, job.refReads[name], job.reads != nil)
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
