// Command bench measures what Tidegate adds to the time that the API servers
// themselves need. In one run, on one machine, it delivers the same objects to
// the same regions twice: through Tidegate, from the webhook's arrival to the API
// showing every target Synced and Healthy, and by a bare loop of server-side
// applies that waits until everything is Available. What matters is the
// difference; neither figure means much on another machine.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tidegate/tidegate/deploy/local/stack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	dir, bin    string
	regions     int
	configMaps  int
	deployments int
}

func command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use: "bench", Short: "Measure what Tidegate adds to the API servers' own time", Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	c.Flags().StringVar(&o.dir, "dir", filepath.Join(".local", "bench"), "where the run keeps its state; emptied first")
	c.Flags().StringVar(&o.bin, "bin", filepath.Join(".local", "bin"), "the built programs")
	c.Flags().IntVar(&o.regions, "regions", 10, "how many regions")
	c.Flags().IntVar(&o.configMaps, "configmaps", 100, "ConfigMaps of 500 bytes in each region")
	c.Flags().IntVar(&o.deployments, "deployments", 10, "Deployments of one replica in each region")
	return c
}

func run(ctx context.Context, o options) error {
	if err := os.RemoveAll(o.dir); err != nil {
		return err
	}
	bin, err := filepath.Abs(o.bin)
	if err != nil {
		return err
	}
	s, err := stack.Start(ctx, stack.Options{Dir: o.dir, Bin: bin, Regions: stack.Demo(o.regions), AuditLog: true, Temporal: true})
	if err != nil {
		return err
	}
	defer s.Stop() //nolint:errcheck // the run is over
	b, err := newBench(ctx, o, bin, s)
	if err != nil {
		return err
	}
	if err := b.measureAll(ctx); err != nil {
		return err
	}
	b.result.print()
	return nil
}
