package activities

import (
	"errors"

	"go.temporal.io/sdk/temporal"

	"github.com/tidegate/tidegate/internal/render"
	"github.com/tidegate/tidegate/internal/render/checkout"
)

// ErrorCheckout is a checkout that may not be unpacked: a link or name that leads
// out of it, or too much of it. The other types of a source's fault are the
// kinds of render.Error.
const ErrorCheckout = "CheckoutRefused"

// classifyRender is classify for errors that a source may be at fault for; those
// say what was read, since a change there may mend them.
func classifyRender(err error, reads []SourceReads) error {
	kind, final := renderErrorClass(err)
	if kind == ErrorUnknown {
		return classify(err)
	}
	return temporal.NewApplicationErrorWithOptions(clip(err.Error()), kind, temporal.ApplicationErrorOptions{
		NonRetryable: final, Details: []any{RenderFailure{Reads: reads}},
	})
}

func renderErrorClass(err error) (kind string, final bool) {
	var fault *render.Error
	switch {
	case errors.As(err, &fault):
		return string(fault.Kind), fault.Final()
	case errors.Is(err, checkout.ErrRefused):
		return ErrorCheckout, true
	default:
		return ErrorUnknown, false
	}
}
