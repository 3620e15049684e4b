package cli

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/starter/api"
	"github.com/tidegate/tidegate/starter/client"
	"github.com/tidegate/tidegate/workflows"
)

// candidates are the rollouts of a stage that may be meant by the Delivery's
// name: the newest of those that wait, and the one that runs, which may wait
// before a prune.
func candidates(st promotion.StageStatus) []int {
	var numbers []int
	if st.Running != nil {
		numbers = append(numbers, st.Running.Number)
	}
	if len(st.Waiting) > 0 {
		numbers = append(numbers, st.Waiting[0].Number)
	}
	return numbers
}

// waitingGates are the gates of a rollout that can be answered.
func waitingGates(r workflows.RolloutStatus) []string {
	var names []string
	for _, g := range r.Gates {
		if g.State == workflows.GateStateWaiting && g.IsAnswered() && !r.Phase.Final() {
			names = append(names, g.Name)
		}
	}
	return names
}

func onlyGate(id client.RolloutID, r workflows.RolloutStatus) (string, error) {
	switch names := waitingGates(r); len(names) {
	case 1:
		return names[0], nil
	case 0:
		return "", fmt.Errorf("rollout %s waits at no gate: it is %s", id, r.Phase)
	default:
		return "", fmt.Errorf("rollout %s waits at several gates: say --gate with one of %s", id, strings.Join(names, ", "))
	}
}

func (p *program) abandon() *cobra.Command {
	var request api.Abandon
	c := &cobra.Command{
		Use: "abandon DELIVERY", Short: "Leave the objects of targets that are to be deleted where they are", Args: cobra.ExactArgs(1),
		Long: "Leave the objects of targets that are to be deleted where they are.\n\n" +
			"A target that is no longer declared is deleted once somebody has approved that,\n" +
			"and its region answers. This says that nothing of it is to be deleted, whatever\n" +
			"it waits for. Deleting that is under way stops before the next wave.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client()
			if err != nil {
				return err
			}
			_, key, err := p.named(cmd, c, args[0])
			if err != nil {
				return err
			}
			outcome, err := c.Abandon(cmd.Context(), key, request)
			if client.Is(err, http.StatusConflict) {
				return fmt.Errorf("refused: %w", err)
			}
			if err != nil {
				return err
			}
			return p.show(outcome, func() []string { return []string{outcome.Message} })
		},
	}
	c.Flags().StringVar(&request.By, "by", p.User, "who asks")
	c.Flags().StringSliceVar(&request.Targets, "target", nil, "of these targets only")
	return c
}
