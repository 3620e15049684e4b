package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/activities"
)

// Poll asks every repository of the catalog where its refs stand, for ever:
// webhooks can be lost, or absent. One activity does the asking and returns only
// when something has moved.
func Poll(ctx workflow.Context, _ PollInput) error {
	for !workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
		moved, err := pollSources(ctx)
		if err != nil {
			return err
		}
		letters := make([]activities.Letter, 0, len(moved))
		for _, m := range moved {
			letters = append(letters, letterToPush(m.Ref, Hint{Commit: m.Commit, From: "poll"}))
		}
		if err := deliverLetters(ctx, fmt.Sprintf("%d refs have moved", len(moved)), letters...); err != nil {
			return err
		}
	}
	return workflow.NewContinueAsNewError(ctx, Poll, PollInput{})
}
