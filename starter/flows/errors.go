package flows

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

var (
	// ErrUnknown means that Temporal has no such workflow, or, for an update or a
	// signal, that it has ended.
	ErrUnknown = errors.New("no such workflow runs")
	// ErrUnavailable means that Temporal, or a worker for the workflow, did not
	// answer in time. It may be tried again.
	ErrUnavailable = errors.New("no answer")
)

// Refused is a workflow's no to an update: nothing was done.
type Refused struct {
	Reason string // in words for people
}

func (r Refused) Error() string { return r.Reason }

// explain sorts an error of Temporal's client.
func explain(attempt string, err error) error {
	if err == nil {
		return nil
	}
	var refused *temporal.ApplicationError
	var unknown *serviceerror.NotFound
	switch {
	case errors.As(err, &refused):
		return Refused{Reason: refused.Message()}
	case errors.As(err, &unknown):
		return fmt.Errorf("%s: %w", attempt, ErrUnknown)
	case isTemporary(err):
		return fmt.Errorf("%s: %w: %w", attempt, ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", attempt, err)
}

func isTemporary(err error) bool {
	var (
		unavailable *serviceerror.Unavailable
		deadline    *serviceerror.DeadlineExceeded
		canceled    *serviceerror.Canceled
		exhausted   *serviceerror.ResourceExhausted
		notReady    *serviceerror.WorkflowNotReady
		noPoller    *serviceerror.FailedPrecondition // "no poller seen for task queue recently"
		update      *client.WorkflowUpdateServiceTimeoutOrCanceledError
	)
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.As(err, &unavailable) || errors.As(err, &deadline) || errors.As(err, &canceled) ||
		errors.As(err, &exhausted) || errors.As(err, &notReady) || errors.As(err, &noPoller) || errors.As(err, &update)
}
