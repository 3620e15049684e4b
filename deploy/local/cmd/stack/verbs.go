package main

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/tidegate/tidegate/deploy/local/stack"
)

// up starts the stack, or what has died of it, and tells where everything is.
func up(ctx context.Context, o stack.Options) error {
	s, already, err := stack.Up(ctx, o)
	if err != nil {
		return err
	}
	if already {
		fmt.Printf("The local stack is already up, with %d regions.\n", len(s.Regions))
	} else {
		fmt.Printf("The local stack is up, with %d regions.\n", len(s.Regions))
	}
	tell(s)
	return nil
}

// tell prints where to look.
func tell(s *stack.Stack) {
	fmt.Printf(`  Temporal    %s, its UI %s
  regions     kubectl --kubeconfig %s --context %s get pods -A
  settings    %s
`, s.Temporal.Address, s.Temporal.UI, s.Kubeconfig, s.Regions[0].Name, s.Settings)
}

func down(dir string) error {
	ended, err := stack.Down(dir)
	if err != nil {
		return err
	}
	if ended == 0 {
		fmt.Println("The local stack is down.")
	} else {
		fmt.Printf("The local stack is down: %d processes ended, what they wrote is removed.\n", ended)
	}
	return nil
}

func status(ctx context.Context, dir string) error {
	s, err := stack.Open(dir)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "PROCESS\tPID\tSTATE\tWHERE")
	unready := 0
	for _, p := range s.Status(ctx) {
		if !p.Ready() {
			unready++
		}
		_, _ = fmt.Fprintf(table, "%s\t%d\t%s\t%s\n", p.Name, p.PID, p.State, p.Where)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if unready > 0 {
		return fmt.Errorf("look at the stack: %d processes are not ready: `make up` starts what has died; logs are in %s/logs", unready, dir)
	}
	return nil
}

// ui tells where to look at a stack that is up.
func ui(dir string) error {
	s, err := stack.Open(dir)
	if err != nil {
		return err
	}
	tell(s)
	return nil
}
