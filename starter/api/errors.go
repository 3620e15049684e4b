package api

import (
	"errors"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidegate/tidegate/starter/flows"
)

// tryAgain is the way out when nobody answers.
const tryAgain = "Temporal or the worker does not answer; see that Temporal and `tidegate-worker` run, then try again"

// explain turns an error of package flows into an HTTP answer. Unknown is what a
// workflow that is not there means here.
func explain(err error, unknown string) error {
	var refused flows.Refused
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return huma.Error409Conflict(refused.Reason)
	case errors.Is(err, flows.ErrUnknown):
		return huma.Error404NotFound(unknown)
	case errors.Is(err, flows.ErrUnavailable):
		return huma.Error503ServiceUnavailable(tryAgain)
	}
	return huma.Error500InternalServerError(err.Error())
}
