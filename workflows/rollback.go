package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/internal/promotion"
)

// rollback is the update that `tidegate rollback` sends.
func (d *delivery) rollback(ctx workflow.Context, in RollbackRequest) (RollbackResult, error) {
	release := d.rollbackTo(in)
	if _, err := d.ask(ctx, promotion.Event{Kind: promotion.RollbackRequested, Stage: in.Stage, Release: release, By: in.By, Message: in.Reason}); err != nil {
		return RollbackResult{}, err
	}
	return RollbackResult{Message: fmt.Sprintf("%s goes back to release %d; what it leaves is not delivered again", in.Stage, release)}, nil
}

// refuseRollback says why a rollback is refused; nil when it is not.
func (d *delivery) refuseRollback(in RollbackRequest) error {
	release := d.rollbackTo(in)
	switch {
	case in.By == "":
		return errors.New("a rollback needs a name: say who asks in by")
	case in.Reason == "":
		return errors.New("a rollback needs a reason, for those who find it later")
	}
	return d.state.CheckRollback(in.Stage, release)
}

// rollbackTo is the release that is meant.
func (d *delivery) rollbackTo(in RollbackRequest) int {
	if in.Release > 0 {
		return in.Release
	}
	return d.state.RollbackTo(in.Stage)
}
