package activities

import (
	"errors"

	"go.temporal.io/api/serviceerror"

	"github.com/tidegate/tidegate/internal/charts"
	"github.com/tidegate/tidegate/internal/git"
)

// isNotFound says whether Temporal does not have what was asked for.
func isNotFound(err error) bool {
	var missing *serviceerror.NotFound
	return errors.As(err, &missing)
}

// isUserError says whether a repository is as it is by somebody's choice, so
// that people should be told: asking again soon is of no use.
func isUserError(err error) bool {
	if err == nil {
		return false
	}
	for _, kind := range []charts.Kind{charts.KindURL, charts.KindAuth, charts.KindMissing} {
		if errors.Is(err, kind) {
			return true
		}
	}
	switch git.KindOf(err) {
	case git.KindURL, git.KindRepository, git.KindAuth, git.KindRevision, git.KindSignature:
		return true
	default:
		return false
	}
}
