package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/starter/api"
	"github.com/tidegate/tidegate/starter/client"
	"github.com/tidegate/tidegate/starter/screen"
	"github.com/tidegate/tidegate/workflows"
)

func (p *program) sync() *cobra.Command {
	var request api.Sync
	dryRun := false
	c := &cobra.Command{
		Use: "sync DELIVERY", Short: "Deliver the newest release now, and retry what failed", Args: cobra.ExactArgs(1),
		Long: "Deliver the newest release now: open the gates that wait for a sync, retry what\n" +
			"failed, else deliver again what was delivered last.\n\n" +
			"With --resource or --prune what was delivered last is delivered again, to that\n" +
			"extent: only the objects that are named, without hooks; or with pruning, where\n" +
			"the policy does not allow it. The deletion budget holds all the same.\n\n" +
			"With --dry-run nothing happens: the regions are asked what would change.",
		Example: "  tidegate sync shop --dry-run\n" +
			"  tidegate sync shop --resource apps:Deployment:web --resource ':Service:*'\n" +
			"  tidegate sync shop --prune --target eu-1-shop",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client()
			if err != nil {
				return err
			}
			_, key, err := p.named(cmd, c, args[0])
			if err != nil {
				return err
			}
			if dryRun {
				return p.previewSync(cmd.Context(), c, key, request)
			}
			if len(request.Targets) > 0 && len(request.Resources) == 0 && !request.Prune {
				return errors.New("--target goes with --resource, --prune or --dry-run: a release is delivered to a whole stage")
			}
			outcome, err := c.Sync(cmd.Context(), key, request)
			if client.Is(err, http.StatusConflict) {
				return fmt.Errorf("refused: %w", err)
			}
			if err != nil {
				return err
			}
			return p.show(outcome, func() []string { return []string{outcome.Message} })
		},
	}
	flags := c.Flags()
	flags.StringVar(&request.By, "by", p.User, "who asks")
	flags.BoolVar(&dryRun, "dry-run", false, "say what would change, and do nothing")
	flags.StringArrayVar(&request.Resources, "resource", nil, "only objects that match `GROUP:KIND:NAME` or GROUP:KIND:NAMESPACE/NAME; * matches anything, ! in front excludes; may be repeated")
	flags.BoolVar(&request.Prune, "prune", false, "delete what is no longer declared, whatever the policy says")
	flags.StringSliceVar(&request.Targets, "target", nil, "only these `targets`")
	return c
}

// previewSync shows what a sync would do. It fails where a plan does: nobody should go
// on then.
func (p *program) previewSync(ctx context.Context, c client.Client, key string, request api.Sync) error {
	result, err := c.Preview(ctx, key, request)
	if err != nil {
		return err
	}
	if err := p.show(result, func() []string { return p.previewLines(key, result) }); err != nil {
		return err
	}
	for _, stage := range result.Stages {
		for _, t := range stage.Targets {
			if t.Phase == gitops.TargetFailed {
				return fmt.Errorf("%s would fail: %s", t.Name, t.Message)
			}
		}
	}
	return nil
}

func (p *program) previewLines(key string, result workflows.PreviewResult) []string {
	if len(result.Stages) == 0 {
		return []string{key + " has nothing to deliver yet."}
	}
	var lines []string
	for i, r := range result.Stages {
		if i > 0 {
			lines = append(lines, "")
		}
		title := fmt.Sprintf("%s: %s would go into %s", key, subjectOf(false, r.Release, r.Revision), r.Stage)
		lines = append(lines, p.Palette.Bold(title))
		lines = append(lines, screen.Wrap(r.Message, "", p.textWidth())...)
		for _, g := range r.Gates {
			lines = append(lines, "gate "+g.Name+" would wait: "+g.Message)
		}
		lines = append(append(lines, ""), p.planTable(r)...)
	}
	return lines
}
