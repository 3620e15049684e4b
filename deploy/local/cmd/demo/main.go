// Command demo shows Tidegate's main job on the local stack, as a user would do
// it: a real git push whose hook posts a signed webhook, the rollout through dev
// and staging to the production gate, an approval, and ten healthy regions.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tidegate/tidegate/deploy/local/stack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		if errors.Is(err, context.Canceled) {
			fmt.Fprintln(os.Stderr, "\nstopped; the stack is still up: `make demo` goes on, `make down` removes it")
		} else {
			fmt.Fprintln(os.Stderr, "demo:", err)
		}
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "demo",
		Short: "Push a change through ten regions",
		Args:  cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	c.Flags().StringVar(&o.dir, "dir", ".local", "where the stack keeps its state")
	c.Flags().StringVar(&o.examples, "examples", filepath.Join("deploy", "examples", "shop"), "the sample application and its catalog")
	c.Flags().IntVar(&o.regions, "regions", envInt("REGIONS", 10), "how many regions")
	c.Flags().BoolVar(&o.upOnly, "up", false, "start the stack and Tidegate, and push nothing")
	c.Flags().BoolVar(&o.poll, "poll", false, "send no webhook: the push is found by polling")
	c.AddCommand(postReceive())
	return c
}

func envInt(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

type options struct {
	dir, examples string
	regions       int
	upOnly, poll  bool
}

// run is the demo, step by step.
func run(ctx context.Context, o options) error {
	bin, err := filepath.Abs(filepath.Join(o.dir, "bin"))
	if err != nil {
		return err
	}
	ports := stack.DemoPorts()
	if err := ports.Override(os.Getenv); err != nil {
		return err
	}
	say("1", "the local stack: Temporal and %d Kubernetes API servers", o.regions)
	s, _, err := stack.Up(ctx, stack.Options{
		Dir: o.dir, Bin: bin, Regions: stack.Demo(o.regions), Ports: ports,
		Detached: true, AuditLog: true, Temporal: true, UI: true, Progress: func(line string) { fmt.Println("   " + line) },
	})
	if err != nil {
		return err
	}
	d, err := newDemo(o, s)
	if err != nil {
		return err
	}
	say("2", "Tidegate: `tidegate serve` and `tidegate-worker`")
	if err := d.startTidegate(ctx); err != nil {
		return err
	}
	if o.upOnly {
		d.printPlaces()
		return nil
	}
	say("3", "a sample repository with a catalog of one application in %d regions", o.regions)
	if err := d.writeRepository(ctx); err != nil {
		return err
	}
	say("4", "git push; the repository's hook tells Tidegate")
	if err := d.push(ctx); err != nil {
		return err
	}
	say("5", "the release goes through dev and staging, and waits at production's gate")
	if err := d.tidegate(ctx, "rollout", "watch", d.delivery(), "--revision", d.revision, "--until-gate"); err != nil {
		return err
	}
	say("6", "somebody approves it: tidegate approve %s", d.delivery())
	if err := d.tidegate(ctx, "approve", d.delivery(), "--yes", "--reason", "the demo says so"); err != nil {
		return err
	}
	if err := d.tidegate(ctx, "rollout", "watch", d.delivery(), "--revision", d.revision); err != nil {
		return err
	}
	say("7", "every region has it")
	if err := d.tidegate(ctx, "get", "targets"); err != nil {
		return err
	}
	d.printPlaces()
	return nil
}

func say(step, format string, values ...any) {
	fmt.Printf("\n── %s. %s\n", step, fmt.Sprintf(format, values...))
}
