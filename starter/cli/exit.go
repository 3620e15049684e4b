package cli

import (
	"context"
	"errors"

	"github.com/tidegate/tidegate/starter/watch"
)

// The exit codes.
const (
	exitError       = 1   // the command could not do what it was asked for
	exitFailed      = 2   // `rollout watch`: the rollout has failed
	exitStopped     = 3   // `rollout watch`: superseded, rejected, closed or aborted
	exitInterrupted = 130 // by Ctrl-C
)

const exitCodes = `Exit codes:
  0    healthy, or at a gate with --until-gate
  1    it could not be watched
  2    the rollout failed
  3    it was superseded, rejected, closed or aborted
  130  interrupted`

// endError is a watched rollout that did not end well.
type endError struct{ watch.End }

func (e endError) Error() string { return e.Message }

// ExitCode is what the process should exit with after err.
func ExitCode(err error) int {
	var end endError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &end) && end.Outcome == watch.Failed:
		return exitFailed
	case errors.As(err, &end):
		return exitStopped
	}
	return exitError
}
