// Command stack starts, ends and shows the local stack: a real Temporal and real Kubernetes API servers, on this machine,
// without containers. It is what `make up`, `make down` and `make status` run.
//
//	stack up [--regions=N]   start it, or what has died of it
//	stack down               end all of it, Tidegate's programs too, and remove what they wrote
//	stack status             one line for every process; exit code 1 unless all are ready
//	stack ui                 where to look at it
//
// The variables in the usage text move its ports.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/tidegate/tidegate/deploy/local/stack"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	interrupted := ctx.Err() != nil
	cancel()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil && interrupted:
		fmt.Fprintln(os.Stderr, "stack: interrupted: everything that had been started has been ended again")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "stack:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("stack", flag.ContinueOnError)
	flags.Usage = func() { usage(flags) }
	regions := flags.Int("regions", 10, "how many regions up starts")
	if len(args) == 0 {
		flags.Usage()
		return flag.ErrHelp
	}
	if err := flags.Parse(args[1:]); err != nil {
		return flag.ErrHelp // it has told what is wrong
	}
	bin, err := stack.FindBin()
	if err != nil {
		return err
	}
	dir := filepath.Dir(bin) // .local
	switch args[0] {
	case "up":
		options, err := upOptions(dir, bin, *regions)
		if err != nil {
			return err
		}
		return up(ctx, options)
	case "down":
		return down(dir)
	case "status":
		return status(ctx, dir)
	case "ui":
		return ui(dir)
	}
	flags.Usage()
	return flag.ErrHelp
}

// upOptions are those of a stack for people: fixed ports, which variables may move, and everything to look at.
func upOptions(dir, bin string, regions int) (stack.Options, error) {
	if regions < 1 {
		return stack.Options{}, fmt.Errorf("start %d regions: there has to be one", regions)
	}
	ports := stack.DemoPorts()
	if err := ports.Override(os.Getenv); err != nil {
		return stack.Options{}, err
	}
	return stack.Options{
		Dir: dir, Bin: bin, KubernetesBin: os.Getenv("KUBEBUILDER_ASSETS"),
		Regions: stack.Demo(regions), Ports: ports,
		Detached: true, AuditLog: true, Temporal: true, UI: true,
		Progress: func(line string) { fmt.Println("  " + line) },
	}, nil
}

func usage(flags *flag.FlagSet) {
	fmt.Fprintln(os.Stderr, "usage: stack up|down|status|ui [flags]")
	flags.PrintDefaults()
	fmt.Fprintln(os.Stderr, "variables:")
	ports := stack.DemoPorts()
	for _, p := range ports.List() {
		fmt.Fprintf(os.Stderr, "  %s=%d  %s\n", p.Variable, *p.Number, p.Purpose)
	}
}
