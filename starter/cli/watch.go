package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidegate/tidegate/starter/watch"
)

func (p *program) rolloutWatch() *cobra.Command {
	var o watch.Options
	var timeout time.Duration
	c := &cobra.Command{
		Use: "watch DELIVERY|ROLLOUT", Short: "Follow a rollout, or a release through every stage, until it ends",
		Long: "Follow a rollout until it ends, or a Delivery's release through every stage.\n\n" +
			"On a terminal the table is drawn again and again; elsewhere every change is a\n" +
			"line. Without --revision the newest release is followed as it is now: after a\n" +
			"push, name the commit that was pushed.\n\n" + exitCodes,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%s had not ended after %s", args[0], timeout))
				defer cancel()
			}
			err := p.watch(ctx, cmd, args[0], o)
			if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		},
	}
	c.Flags().BoolVar(&o.UntilGate, "until-gate", false, "end at a gate that waits for somebody, too")
	c.Flags().StringVar(&o.Revision, "revision", "", "follow the release of this commit (default: the newest release)")
	c.Flags().DurationVar(&timeout, "timeout", 0, "give up after this time (default: never)")
	return c
}

func (p *program) watch(ctx context.Context, cmd *cobra.Command, text string, o watch.Options) error {
	c, err := p.client()
	if err != nil {
		return err
	}
	n, key, err := p.named(cmd, c, text)
	if err != nil {
		return err
	}
	o.Client, o.Out, o.Size, o.Palette = c, p.Out, p.Size, p.Palette
	if n.number > 0 && o.Revision != "" {
		return fmt.Errorf("--revision chooses a release of a Delivery, but %s is a rollout: leave one out", text)
	}
	follow := func() (watch.End, error) { return watch.Delivery(ctx, key, o) }
	if n.number > 0 {
		follow = func() (watch.End, error) { return watch.Rollout(ctx, n.rollout(key), o) }
	}
	end, err := follow()
	switch {
	case err != nil:
		return err
	case end.Outcome == watch.Healthy || end.Outcome == watch.AtGate:
		return p.print(end.Message)
	}
	return endError{end}
}
