package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidegate/tidegate/internal/promotion"
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
		if g.State == workflows.GateStateWaiting && !r.Phase.Final() {
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

func (p *program) sync() *cobra.Command {
	by := ""
	c := &cobra.Command{
		Use: "sync DELIVERY", Short: "Deliver the newest release now, and retry what failed", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client()
			if err != nil {
				return err
			}
			_, key, err := p.named(cmd, c, args[0])
			if err != nil {
				return err
			}
			outcome, err := c.Sync(cmd.Context(), key, by)
			if err != nil {
				return err
			}
			return p.show(outcome, func() []string { return []string{outcome.Message} })
		},
	}
	c.Flags().StringVar(&by, "by", p.User, "who asks")
	return c
}
