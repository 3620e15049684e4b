// Command tidegate-worker runs Tidegate's workflows and activities. One binary
// takes the roles that its flags name: control (workflows, Git, the catalog),
// render (the sandbox, no credentials), and regions (the Kubernetes API servers
// that it holds credentials for).
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tidegate/tidegate/internal/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "tidegate-worker:", err)
		os.Exit(1)
	}
}

// options are what the flags say.
type options struct {
	config  string
	roles   []string
	regions []string
}

// The roles that a worker can take.
const (
	roleControl = "control"
	roleRender  = "render"
	roleRegions = "regions"
)

func command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "tidegate-worker",
		Short: "Run Tidegate's workflows and activities",
		Long: "Run Tidegate's workflows and activities until it is told to stop.\n\n" +
			"By default one worker does everything. Give machines their own roles with --roles:\n" +
			"  control   workflows, Git, the catalog: needs the Git credentials\n" +
			"  render    renders manifests: needs no credentials\n" +
			"  regions   applies and watches: needs the kubeconfigs of --regions",
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := config.Load(o.config)
			if err != nil {
				return err
			}
			if err := o.check(settings); err != nil {
				return err
			}
			return run(cmd.Context(), settings, o)
		},
	}
	c.PersistentFlags().StringVar(&o.config, "config", "", "settings file (default: tidegate.yaml, then .local/tidegate.yaml)")
	c.Flags().StringSliceVar(&o.roles, "roles", []string{roleControl, roleRender, roleRegions}, "what this worker does")
	c.Flags().StringSliceVar(&o.regions, "regions", nil, "the regions that it serves (default: all of the settings)")
	c.AddCommand(checkCommand(&o))
	return c
}

// check refuses roles and regions that do not exist.
func (o *options) check(settings config.Settings) error {
	for _, role := range o.roles {
		switch role {
		case roleControl, roleRender, roleRegions:
		default:
			return fmt.Errorf("--roles: there is no role %q; the roles are %s, %s and %s", role, roleControl, roleRender, roleRegions)
		}
	}
	var known []string
	for _, r := range settings.Regions {
		known = append(known, r.Name)
	}
	if len(o.regions) == 0 {
		o.regions = known
	}
	for _, name := range o.regions {
		if _, ok := settings.Region(name); !ok {
			return fmt.Errorf("--regions: the settings have no region %q; they have %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}
