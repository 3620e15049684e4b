package kube

import (
	"fmt"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

// selected leaves out what the scope of the sync does not select, and the hooks of a
// sync of some objects. The destination namespace belongs to all of them.
func (v *view) selected(scope gitops.SyncScope, verdicts []diff.Verdict) ([]diff.Verdict, error) {
	if len(scope.Resources) == 0 {
		return verdicts, nil
	}
	selectors, err := scope.Selectors()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", manifest.ErrInvalid, err)
	}
	wanted, kept := v.wanted[:0:0], verdicts[:0:0]
	for i, verdict := range verdicts {
		isWanted := i < len(v.wanted)
		switch {
		case isWanted && (v.wanted[i].shared || selectors.Select(verdict.Key)):
			wanted, kept = append(wanted, v.wanted[i]), append(kept, verdict)
		case !isWanted && selectors.Select(verdict.Key):
			kept = append(kept, verdict)
		}
	}
	v.wanted, v.runsHooks = wanted, false
	return kept, nil
}
