package activities

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tidegate/tidegate/internal/artifact"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// keptRenders is how many results are remembered for one path and its options:
// enough for a branch a stage, and for a few that go back and forth.
const keptRenders = 8

// rememberedRender is a render that was done: whenever what it had read is the
// same again, so is its bundle.
type rememberedRender struct {
	Reads       []string            `json:"reads"`
	RefReads    map[string][]string `json:"refReads,omitempty"`
	Fingerprint string              `json:"fingerprint"` // keyed, of what was read
	Bundle      gitops.Bundle       `json:"bundle"`
}

func rendersName(key string) string { return "render/" + key }

// recall looks for an earlier render that would read the same.
func (r *Renderer) recall(ctx context.Context, job *renderJob) (found bool, err error) {
	var known []rememberedRender
	_, err = r.Blobs.namedJSON(ctx, rendersName(job.key), &known)
	if errors.Is(err, artifact.ErrDamaged) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for an earlier render of %s: %w", job.source.Path, err)
	}
	for _, earlier := range known {
		print, err := r.fingerprint(job, earlier.Reads, earlier.RefReads)
		if err != nil {
			return false, err
		}
		if print != earlier.Fingerprint {
			continue
		}
		there, err := r.refresh(ctx, earlier.Bundle.Digest)
		if err != nil || !there {
			return false, err
		}
		job.bundle, job.reads, job.refReads = earlier.Bundle, earlier.Reads, earlier.RefReads
		return true, nil
	}
	return false, nil
}

// refresh makes a stored bundle young again, so that no sweep takes it before it
// is referred to; false when it is gone.
func (r *Renderer) refresh(ctx context.Context, digest string) (bool, error) {
	data, err := r.Blobs.Get(ctx, digest)
	if errors.Is(err, artifact.ErrNotFound) || errors.Is(err, artifact.ErrDamaged) {
		return false, nil
	}
	if err == nil {
		_, err = r.Blobs.Put(ctx, "bundle", data)
	}
	if err != nil {
		return false, fmt.Errorf("read an earlier bundle: %w", err)
	}
	return true, nil
}

// remember puts a render before the others of its key. Two at a time may lose
// one of them: it is rendered again then.
func (r *Renderer) remember(ctx context.Context, job *renderJob) error {
	print, err := r.fingerprint(job, job.reads, job.refReads)
	if err != nil {
		return err
	}
	var known []rememberedRender
	if _, err := r.Blobs.namedJSON(ctx, rendersName(job.key), &known); err != nil && !errors.Is(err, artifact.ErrDamaged) {
		return fmt.Errorf("remember the render of %s: %w", job.source.Path, err)
	}
	known = slices.DeleteFunc(known, func(k rememberedRender) bool { return k.Fingerprint == print })
	known = slices.Insert(known, 0, rememberedRender{Reads: job.reads, RefReads: job.refReads, Fingerprint: print, Bundle: job.bundle})
	if err := r.Blobs.setNamedJSON(ctx, rendersName(job.key), known[:min(len(known), keptRenders)]); err != nil {
		return fmt.Errorf("remember the render of %s: %w", job.source.Path, err)
	}
	return nil
}

// fingerprint is keyed: without the store's key nobody finds out by guessing what
// a small file holds.
func (r *Renderer) fingerprint(job *renderJob, reads []string, refReads map[string][]string) (string, error) {
	print, err := render.Fingerprint(job.tree, reads)
	if err != nil {
		return "", fmt.Errorf("compare what %s reads: %w", job.source.Path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(job.others)) {
		other, err := render.Fingerprint(job.others[name].dir, refReads[name])
		if err != nil {
			return "", fmt.Errorf("compare what %s reads of $%s: %w", job.source.Path, name, err)
		}
		print += " " + name + "=" + other
	}
	return r.Blobs.Store.MAC("reads", []byte(print)), nil
}
