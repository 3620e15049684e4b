package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/starter/api"
	"github.com/tidegate/tidegate/starter/client"
	"github.com/tidegate/tidegate/workflows"
)

// answerFlags are what approve and reject have in common.
type answerFlags struct {
	gate, plan, reason, by string
	yes                    bool
}

// answer is one of the two things to say at a gate.
type answer struct {
	verb string // in the imperative
	send func(client.Client, context.Context, client.RolloutID, api.Decision) (api.Outcome, error)
}

func (p *program) approve() *cobra.Command {
	return p.decision(answer{verb: "approve", send: client.Client.Approve}, "Open a gate: the plan that is shown may be carried out")
}

func (p *program) reject() *cobra.Command {
	return p.decision(answer{verb: "reject", send: client.Client.Reject}, "Say no at a gate: the rollout ends")
}

func (p *program) decision(a answer, short string) *cobra.Command {
	var f answerFlags
	c := &cobra.Command{
		Use: a.verb + " ROLLOUT|DELIVERY", Short: short, Args: cobra.ExactArgs(1),
		Long: short + ".\n\n" +
			"Without --plan the plan is shown first, and on a terminal you are asked. The\n" +
			"decision counts for the very plan that was shown; when it has changed since,\n" +
			"nothing happens.",
		RunE: func(cmd *cobra.Command, args []string) error { return p.decide(cmd, a, args[0], f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.gate, "gate", "", "the gate (default: the one that waits)")
	flags.StringVar(&f.plan, "plan", "", "digest of the plan that you have seen; nothing is shown or asked then")
	flags.StringVar(&f.reason, "reason", "", "why, for the record")
	flags.StringVar(&f.by, "by", p.User, "who decides")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	return c
}

func (p *program) decide(cmd *cobra.Command, a answer, text string, f answerFlags) error {
	c, err := p.client()
	if err != nil {
		return err
	}
	n, key, err := p.named(cmd, c, text)
	if err != nil {
		return err
	}
	id, status, err := p.waiting(cmd.Context(), c, n, key)
	if err != nil {
		return err
	}
	if status.Phase == gitops.PhasePlanning {
		return fmt.Errorf("rollout %s is still being planned: `tidegate rollout watch %s --until-gate` shows when it is not", id, id)
	}
	if f.gate == "" {
		if f.gate, err = onlyGate(id, status); err != nil {
			return err
		}
	}
	if f.plan == "" {
		if f.plan, err = p.shownPlan(a, f, id, status); err != nil {
			return err
		}
	}
	outcome, err := a.send(c, cmd.Context(), id, api.Decision{Gate: f.gate, PlanDigest: f.plan, By: f.by, Reason: f.reason})
	if client.Is(err, http.StatusConflict) {
		return fmt.Errorf("refused: %w", err)
	}
	if err != nil {
		return err
	}
	return p.show(outcome, func() []string { return []string{outcome.Message} })
}

// shownPlan shows the plan and has it confirmed; it returns the plan's digest.
func (p *program) shownPlan(a answer, f answerFlags, id client.RolloutID, status workflows.RolloutStatus) (string, error) {
	if !f.yes && !p.Asks {
		return "", fmt.Errorf("nobody is here to ask: look at `tidegate rollout get %s`, then give --plan %s, or --yes", id, status.PlanDigest)
	}
	if p.output != "json" {
		if err := p.print(append(p.rolloutLines(id, status), "")...); err != nil {
			return "", err
		}
	}
	if f.yes {
		return status.PlanDigest, nil
	}
	if _, err := fmt.Fprintf(p.Err, "%s%s rollout %s at gate %s? [y/N] ", strings.ToUpper(a.verb[:1]), a.verb[1:], id, f.gate); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(p.In).ReadString('\n')
	if reply := strings.ToLower(strings.TrimSpace(line)); err != nil || reply != "y" && reply != "yes" {
		return "", errors.New("nothing was decided")
	}
	return status.PlanDigest, nil
}

// waiting finds the rollout that is meant: the one named, or the one rollout of
// the Delivery that waits at a gate.
func (p *program) waiting(ctx context.Context, c client.Client, n name, key string) (client.RolloutID, workflows.RolloutStatus, error) {
	if n.number > 0 {
		status, err := c.Rollout(ctx, n.rollout(key))
		return n.rollout(key), status, err
	}
	delivery, err := c.Delivery(ctx, key)
	if err != nil {
		return client.RolloutID{}, workflows.RolloutStatus{}, err
	}
	found := map[client.RolloutID]workflows.RolloutStatus{}
	var ids []string
	var chosen client.RolloutID
	for _, st := range delivery.Stages {
		for _, number := range candidates(st) {
			id := client.RolloutID{Delivery: key, Stage: st.Name, Number: number}
			status, err := c.Rollout(ctx, id)
			if err != nil {
				return id, status, err
			}
			if len(waitingGates(status)) > 0 {
				found[id], chosen = status, id
				ids = append(ids, id.String())
			}
		}
	}
	switch len(ids) {
	case 1:
		return chosen, found[chosen], nil
	case 0:
		return chosen, workflows.RolloutStatus{}, fmt.Errorf("nothing of %s waits at a gate; `tidegate rollout list %s` shows its rollouts", key, key)
	}
	return chosen, workflows.RolloutStatus{}, fmt.Errorf("several rollouts of %s wait at a gate: say which of %s", key, strings.Join(ids, ", "))
}
