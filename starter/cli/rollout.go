package cli

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/starter/api"
	"github.com/tidegate/tidegate/starter/client"
	"github.com/tidegate/tidegate/starter/screen"
	"github.com/tidegate/tidegate/starter/watch"
	"github.com/tidegate/tidegate/workflows"
)

func (p *program) rollout() *cobra.Command {
	c := &cobra.Command{Use: "rollout", Aliases: []string{"rollouts", "r"}, Short: "List, show, watch or abort rollouts", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(p.rolloutList(), p.rolloutGet(), p.rolloutWatch(), p.rolloutAbort())
	return c
}

func (p *program) rolloutList() *cobra.Command {
	return &cobra.Command{
		Use: "list [DELIVERY]", Aliases: []string{"ls"}, Short: "List the rollouts that Deliveries remember, newest first", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client()
			if err != nil {
				return err
			}
			key := ""
			if len(args) == 1 {
				if _, key, err = p.named(cmd, c, args[0]); err != nil {
					return err
				}
			}
			list, err := c.Rollouts(cmd.Context(), key)
			if err != nil {
				return err
			}
			return p.show(list, func() []string { return p.rolloutsTable(list) })
		},
	}
}

func (p *program) rolloutsTable(list api.Rollouts) []string {
	p.warn(list.Errors...)
	if len(list.Rollouts) == 0 {
		return []string{"There is no rollout yet."}
	}
	t := screen.Table{Headings: []string{"ROLLOUT", "RELEASE", "PHASE", "HEALTHY", "STARTED"}}
	for _, r := range list.Rollouts {
		t.Rows = append(t.Rows, []string{
			r.ID, strings.TrimPrefix(subjectOf(r.Delete, r.Release, r.Revision), "release "), string(r.Phase),
			fmt.Sprintf("%d/%d", r.Healthy, r.Total), moment(r.Started),
		})
	}
	return t.Lines(p.width(), p.Palette)
}

// moment is a time as people of all zones read it.
func moment(t time.Time) string { return t.UTC().Format("Jan 02 15:04:05Z") }

// namedRollout is the rollout that an argument names, and a client to ask about it.
func (p *program) namedRollout(cmd *cobra.Command, text string) (c client.Client, id client.RolloutID, err error) {
	if c, err = p.client(); err != nil {
		return c, id, err
	}
	n, key, err := p.named(cmd, c, text)
	if err == nil && n.number == 0 {
		err = fmt.Errorf("%s is a Delivery: `tidegate rollout list %s` lists its rollouts", text, text)
	}
	if err != nil {
		return c, id, err
	}
	return c, n.rollout(key), nil
}

func (p *program) rolloutGet() *cobra.Command {
	return &cobra.Command{
		Use: "get ROLLOUT", Short: "Show everything about a rollout", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, id, err := p.namedRollout(cmd, args[0])
			if err != nil {
				return err
			}
			status, err := c.Rollout(cmd.Context(), id)
			if err != nil {
				return err
			}
			return p.show(status, func() []string { return p.rolloutLines(id, status) })
		},
	}
}

func (p *program) rolloutAbort() *cobra.Command {
	var by, reason string
	c := &cobra.Command{
		Use: "abort ROLLOUT", Short: "End a rollout wherever it stands", Args: cobra.ExactArgs(1),
		Long: "End a rollout wherever it stands.\n\n" +
			"What is being written may go on for 20 seconds; nothing further is begun.\n" +
			"Waits end at once, and hooks that are at work are deleted. Nothing is undone.",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, id, err := p.namedRollout(cmd, args[0])
			if err != nil {
				return err
			}
			outcome, err := c.Abort(cmd.Context(), id, api.Abort{By: by, Reason: reason})
			if client.Is(err, http.StatusConflict) {
				return fmt.Errorf("refused: %w", err)
			}
			if err != nil {
				return err
			}
			return p.show(outcome, func() []string { return []string{outcome.Message} })
		},
	}
	c.Flags().StringVar(&by, "by", p.User, "who aborts")
	c.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return c
}

func rollbackMark(rollback bool) string {
	if rollback {
		return "rollback to "
	}
	return ""
}

// subjectOf is what a rollout delivers.
func subjectOf(deletes bool, release int, revision string) string {
	if deletes {
		return "deletion"
	}
	return fmt.Sprintf("release %d (%s)", release, gitops.ShortRevision(revision))
}

// rolloutLines is a rollout for people: what it is, its gates, its plan.
func (p *program) rolloutLines(id client.RolloutID, r workflows.RolloutStatus) []string {
	width := p.textWidth()
	lines := []string{
		p.Palette.Bold("rollout " + id.String()),
		rollbackMark(r.Rollback) + fmt.Sprintf("%s, %s, started %s", subjectOf(r.Delete, r.Release, r.Revision), r.Phase, moment(r.Started)),
	}
	if r.Phase != gitops.PhaseWaiting { // else its gates say the same
		lines = append(lines, screen.Wrap(r.Message, "", width)...)
	}
	if r.PlanDigest != "" {
		lines = append(lines, "plan "+r.PlanDigest)
	}
	for _, g := range r.Gates {
		text := fmt.Sprintf("gate %s: %s", g.Name, g.State)
		if g.By != "" {
			text += " by " + g.By
		}
		if g.Message != "" {
			text += ", " + g.Message
		}
		lines = append(lines, screen.Wrap(text, "", width)...)
	}
	lines = append(append(lines, ""), p.planTable(r)...)
	for _, d := range r.Decisions {
		text := fmt.Sprintf("%s %s said %s at gate %s", moment(d.At), d.By, d.Verb, d.Gate)
		if !d.Accepted {
			text += ", refused: " + d.Refusal
		} else if d.Reason != "" {
			text += ": " + d.Reason
		}
		lines = append(lines, screen.Wrap(text, "", width)...)
	}
	return lines
}

// planTable has a row for each target, then what changes or is wrong in it.
func (p *program) planTable(r workflows.RolloutStatus) []string {
	t := screen.Table{Headings: []string{"REGION", "TARGET", "APPLY", "PRUNE", "STATE"}}
	var notes []string
	for _, target := range r.Targets {
		t.Rows = append(t.Rows, []string{target.Region, target.Name, fmt.Sprint(target.Apply), fmt.Sprint(target.Prune), watch.State(target)})
		if target.Message != "" {
			notes = append(notes, screen.Wrap(target.Region+": "+target.Message, "", p.textWidth())...)
		}
	}
	lines := append(t.Lines(p.width(), p.Palette), notes...)
	lines = append(lines, p.changeLines(r)...)
	return append(lines, p.inTargets("another render would give other objects, because of:", r, func(t workflows.TargetStatus) []string { return t.Unstable })...)
}

// inTargets lists what targets have, once for all those in which it is the same.
func (p *program) inTargets(title string, r workflows.RolloutStatus, of func(workflows.TargetStatus) []string) []string {
	var order []string
	targets := map[string]int{}
	for _, t := range r.Targets {
		for _, c := range of(t) {
			if targets[c] == 0 {
				order = append(order, c)
			}
			targets[c]++
		}
	}
	if len(order) == 0 {
		return nil
	}
	lines := []string{"", title}
	for _, c := range order {
		text := c
		if targets[c] < len(r.Targets) {
			text += fmt.Sprintf(" (in %d of %d targets)", targets[c], len(r.Targets))
		}
		lines = append(lines, screen.Wrap(text, "  ", p.textWidth())...)
	}
	return lines
}
