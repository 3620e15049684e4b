package cli

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/starter/api"
	"github.com/tidegate/tidegate/starter/client"
)

func (p *program) rollback() *cobra.Command {
	var request api.Rollback
	c := &cobra.Command{
		Use: "rollback DELIVERY", Short: "Take a stage back to a release that was healthy there", Args: cobra.ExactArgs(1),
		Long: "Take a stage back to a release that was healthy there, past its gates.\n\n" +
			"The release is delivered as it was rendered then; nothing is fetched. What the\n" +
			"stage leaves is quarantined: nothing that renders to the same is delivered any\n" +
			"more, in no stage, until somebody goes back to it. The next other release goes\n" +
			"on as usual.",
		Example: "  tidegate rollback shop --stage production --reason 'checkout is slow'\n" +
			"  tidegate rollback shop --stage production --to 41 --reason 'as agreed'",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client()
			if err != nil {
				return err
			}
			_, key, err := p.named(cmd, c, args[0])
			if err != nil {
				return err
			}
			if request.Reason == "" {
				return errors.New("say why, for those who find it later: --reason")
			}
			if request.Stage == "" {
				status, err := c.Delivery(cmd.Context(), key)
				if err != nil {
					return err
				}
				if request.Stage, err = onlyStage(status); err != nil {
					return err
				}
			}
			outcome, err := c.Rollback(cmd.Context(), key, request)
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
	flags.StringVar(&request.Reason, "reason", "", "why, for the record")
	flags.StringVar(&request.Stage, "stage", "", "the stage (default: the only one)")
	flags.IntVar(&request.Release, "to", 0, "the `release` (default: the one before that was healthy there)")
	return c
}

// onlyStage is the stage that is meant when nobody names one.
func onlyStage(status promotion.Status) (string, error) {
	var names []string
	for _, st := range status.Stages {
		if st.Name != gitops.DeletionStage {
			names = append(names, st.Name)
		}
	}
	if len(names) != 1 {
		return "", fmt.Errorf("%s has several stages: say --stage with one of %s", status.Delivery, strings.Join(names, ", "))
	}
	return names[0], nil
}
