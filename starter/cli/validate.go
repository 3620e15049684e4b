package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tidegate/tidegate/internal/catalog"
	"github.com/tidegate/tidegate/internal/config"
	"github.com/tidegate/tidegate/internal/gitops"
)

func (p *program) validate() *cobra.Command {
	return &cobra.Command{
		Use: "validate FOLDER", Short: "Check a catalog before it is used", Args: cobra.ExactArgs(1),
		Long: "Read a catalog as a worker would, with the regions of the settings, and say what\n" +
			"it refuses by file and line. It speaks to no server. The exit code is 1 when\n" +
			"anything is refused.",
		RunE: func(_ *cobra.Command, args []string) error {
			settings, err := config.Load(p.config)
			if err != nil && (p.config != "" || !isNoFile(err)) {
				return err
			}
			cat, err := catalog.Load(args[0], catalog.Options{Regions: settings.Fleet(), Identity: gitops.RepositoryIdentity})
			if err != nil {
				return fmt.Errorf("read the catalog in %s: %w", args[0], err)
			}
			if err := p.show(cat, func() []string { return p.catalogLines(cat) }); err != nil {
				return err
			}
			if n := len(cat.Problems); n > 0 {
				return fmt.Errorf("%s has %s", args[0], count(n, "problem", "problems"))
			}
			return nil
		},
	}
}

func (p *program) catalogLines(cat gitops.Catalog) []string {
	targets := 0
	for _, d := range cat.Deliveries {
		targets += len(d.Targets)
	}
	return append(p.problemLines(cat.Problems), fmt.Sprintf("%s with %s in %s",
		count(len(cat.Deliveries), "Delivery", "Deliveries"), count(targets, "target", "targets"), count(len(cat.Regions), "region", "regions")))
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
