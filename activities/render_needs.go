package activities

import (
	"context"
	"fmt"
	"maps"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render/checkout"
)

// openProvided unpacks what jobs have asked for.
func (r *Renderer) openProvided(ctx context.Context, w *renderWork, provided []Provided) error {
	cache := checkout.Cache{Dir: r.Dir}
	for _, p := range provided {
		tree, err := cache.Open(ctx, p.Digest, r.Blobs.Get)
		if err != nil {
			return fmt.Errorf("unpack %s: %w", p.Need, err)
		}
		w.open = append(w.open, tree)
		if w.provided[p.Job] == nil {
			w.provided[p.Job] = map[string]otherTree{}
		}
		w.provided[p.Job][p.Name()] = otherTree{tree.Dir, gitops.Ref{Repository: p.String()}}
	}
	return nil
}

// needs lists what jobs ask for.
func (w *renderWork) needs() (list []JobNeed) {
	for _, job := range w.jobs {
		for _, need := range job.needs {
			list = append(list, JobNeed{Job: job.id, Need: need})
		}
	}
	return list
}

// merged has the trees of both.
func merged(a, b map[string]otherTree) map[string]otherTree {
	both := maps.Clone(b)
	maps.Copy(both, a)
	return both
}
