package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
	"github.com/tidegate/tidegate/internal/window"
)

// WindowAt says whether a gate's windows are open at a moment. It is an activity since
// what it knows of time zones is another version's business.
func (*Keeper) WindowAt(_ context.Context, rule gitops.WindowRule, at time.Time) (window.Verdict, error) {
	verdict, err := window.At(rule, at)
	if err != nil {
		return verdict, classify(fmt.Errorf("%w: %w", manifest.ErrInvalid, err))
	}
	return verdict, nil
}
