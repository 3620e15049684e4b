package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/starter/api"
	"github.com/tidegate/tidegate/starter/client"
	"github.com/tidegate/tidegate/starter/screen"
)

func (p *program) get() *cobra.Command {
	deliveries := p.getDeliveries()
	c := &cobra.Command{
		Use: "get [NAME]", Short: "Show Deliveries, targets, or what the catalog refuses",
		Long: "Show every Delivery, or one in detail; targets and problems by their own commands.",
		Args: cobra.MaximumNArgs(1), RunE: deliveries.RunE,
	}
	c.AddCommand(deliveries, p.getTargets(), p.getProblems())
	return c
}

func (p *program) getDeliveries() *cobra.Command {
	return &cobra.Command{
		Use: "deliveries [NAME]", Aliases: []string{"delivery", "d"}, Short: "Show every Delivery, or one in detail", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				list, err := c.Deliveries(cmd.Context())
				if err != nil {
					return err
				}
				return p.show(list, func() []string { return p.deliveriesTable(list) })
			}
			_, key, err := p.named(cmd, c, args[0])
			if err != nil {
				return err
			}
			status, err := c.Delivery(cmd.Context(), key)
			if err != nil {
				return err
			}
			return p.show(status, func() []string { return p.deliveryLines(status) })
		},
	}
}

// named resolves an argument to a name and the key of its Delivery.
func (p *program) named(cmd *cobra.Command, c client.Client, text string) (name, string, error) {
	n, err := parseName(text)
	if err != nil {
		return n, "", err
	}
	key, err := n.resolve(cmd.Context(), c)
	return n, key, err
}

func (p *program) deliveriesTable(list api.Deliveries) []string {
	if len(list.Deliveries) == 0 {
		return []string{"There is no Delivery yet. `tidegate get problems` says what the catalog refuses."}
	}
	t := screen.Table{Headings: []string{"DELIVERY", "SYNC", "HEALTH", "RELEASE", "STAGES"}}
	for _, d := range list.Deliveries {
		if d.Status == nil {
			t.Rows = append(t.Rows, []string{d.Delivery, "Unknown", "Unknown", "–", "–"})
			p.warn(screen.Wrap(d.Delivery+": "+d.Error, "", p.textWidth())...)
			continue
		}
		t.Rows = append(t.Rows, []string{d.Delivery, string(d.Status.Sync), string(d.Status.Health), releaseOf(d.Status.Newest), progressOf(*d.Status)})
	}
	return t.Lines(p.width(), p.Palette)
}

// progressOf says how far the newest release has come: in how many stages it is
// healthy, and what the first of the others does.
func progressOf(status promotion.Status) string {
	ok, next := 0, ""
	stages := slices.DeleteFunc(slices.Clone(status.Stages), func(st promotion.StageStatus) bool { return st.Name == gitops.DeletionStage })
	if len(stages) < len(status.Stages) {
		next = "a deletion waits"
	}
	for _, st := range stages {
		switch {
		case st.Current != nil && status.Newest != nil && st.Current.Number == status.Newest.Number:
			ok++
		case next != "":
		case st.Running != nil:
			next = fmt.Sprintf("%s %d/%d", st.Name, st.Running.Healthy, st.Running.Total)
		case len(st.Waiting) > 0:
			next = st.Name + " waits"
		case st.Failed != nil:
			next = st.Name + " failed"
		case st.Current != nil:
			next = fmt.Sprintf("%s has %d", st.Name, st.Current.Number)
		}
	}
	return strings.TrimSuffix(fmt.Sprintf("%d/%d, %s", ok, len(stages), next), ", ")
}

func releaseOf(r *promotion.ReleaseStatus) string {
	if r == nil {
		return "–"
	}
	return fmt.Sprintf("%d (%s)", r.Number, gitops.ShortRevision(r.Revision))
}

func (p *program) deliveryLines(s promotion.Status) []string {
	lines := []string{p.Palette.Bold(s.Delivery), fmt.Sprintf("newest release %s, %s, %s", releaseOf(s.Newest), s.Sync, s.Health)}
	if s.Rendering {
		lines = append(lines, "a newer release may be on its way")
	}
	t := screen.Table{Headings: []string{"STAGE", "CURRENT", "FAILED", "OPEN ROLLOUTS"}}
	for _, st := range s.Stages {
		name := st.Name
		if st.Retired && st.Name != gitops.DeletionStage {
			name += " (retired)"
		}
		t.Rows = append(t.Rows, []string{name, releaseOf(st.Current), releaseOf(st.Failed), openOf(st)})
	}
	lines = append(append(lines, ""), t.Lines(p.width(), p.Palette)...)
	for _, q := range s.Quarantined {
		lines = append(lines, screen.Wrap(q.String()+"; nothing that renders to the same is delivered", "", p.textWidth())...)
	}
	for _, c := range s.Conditions {
		lines = append(lines, screen.Wrap(c.String(), "", p.textWidth())...)
	}
	return lines
}

func openOf(st promotion.StageStatus) string {
	var parts []string
	if st.Running != nil {
		parts = append(parts, fmt.Sprintf("%d: %s %d/%d", st.Running.Number, st.Running.Phase, st.Running.Healthy, st.Running.Total))
	}
	for _, w := range st.Waiting {
		parts = append(parts, fmt.Sprintf("%d: %s", w.Number, w.Phase))
	}
	if len(parts) == 0 {
		return "–"
	}
	return strings.Join(parts, ", ")
}

func (p *program) getTargets() *cobra.Command {
	var filter client.TargetFilter
	c := &cobra.Command{
		Use: "targets [DELIVERY]", Aliases: []string{"target", "t"}, Short: "Show what runs in each region", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				filter.Delivery = strings.TrimPrefix(args[0], "delivery/")
			}
			c, err := p.client()
			if err != nil {
				return err
			}
			list, err := c.Targets(cmd.Context(), filter)
			if err != nil {
				return err
			}
			return p.show(list, func() []string { return p.targetsTable(list) })
		},
	}
	c.Flags().StringVar(&filter.Region, "region", "", "of this region only")
	c.Flags().StringVar(&filter.Stage, "stage", "", "of this stage only")
	return c
}

func (p *program) targetsTable(list api.Targets) []string {
	p.warn(list.Errors...)
	if len(list.Targets) == 0 {
		return []string{"There is no such target."}
	}
	t := screen.Table{Headings: []string{"TARGET", "REGION", "STAGE", "RELEASE", "SYNC", "HEALTH"}}
	var notes []string
	for _, target := range list.Targets {
		release := "–"
		if target.Release > 0 {
			release = fmt.Sprint(target.Release)
		}
		health := string(target.Health)
		if target.Unreachable {
			health = "unreachable"
		}
		t.Rows = append(t.Rows, []string{target.Name, target.Region, target.Stage, release, string(target.Sync), health})
		if target.Message != "" && (target.Health != gitops.Healthy || target.Unreachable) {
			notes = append(notes, screen.Wrap(target.Name+": "+target.Message, "", p.textWidth())...)
		}
	}
	return append(t.Lines(p.width(), p.Palette), notes...)
}

func (p *program) getProblems() *cobra.Command {
	return &cobra.Command{
		Use: "problems", Aliases: []string{"problem", "p"}, Short: "Show what the catalog refuses, and why", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.client()
			if err != nil {
				return err
			}
			status, err := c.Catalog(cmd.Context())
			if err != nil {
				return err
			}
			problems := append([]gitops.Problem{}, status.Problems...)
			return p.show(problems, func() []string {
				if len(problems) == 0 {
					return []string{"No problems: the catalog declares " + count(len(status.Deliveries), "Delivery", "Deliveries") + "."}
				}
				return p.problemLines(problems)
			})
		},
	}
}

// problemLines has file:line first, where editors look for it.
func (p *program) problemLines(problems []gitops.Problem) []string {
	var lines []string
	for _, problem := range problems {
		place := problem.File
		if problem.Line > 0 {
			place = fmt.Sprintf("%s:%d", problem.File, problem.Line)
		}
		subject := strings.TrimSpace(problem.Object + " " + problem.Field)
		if place != "" {
			lines = append(lines, strings.TrimSpace(place+": "+subject))
		}
		lines = append(lines, screen.Wrap(problem.Message, "    ", p.textWidth())...)
	}
	return lines
}
