package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tidegate/tidegate/internal/config"
	"github.com/tidegate/tidegate/internal/sandbox"
)

func checkCommand(o *options) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "check",
		Short: "Say whether renders can be confined on this host",
		Long: "Say what this host offers to the sandbox that renders run in, what is missing, and which\n" +
			"settings its container needs. It ends with 1 when renders cannot be confined. It needs no settings file.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := config.Load(o.config)
			if errors.Is(err, config.ErrNoFile) {
				settings, err = config.Defaults(), nil
			}
			if err != nil {
				return err
			}
			findings := sandbox.Check(sandbox.Options{Program: settings.Render.Binary})
			return showCheck(cmd.OutOrStdout(), output, append(findings, checkGVisor(settings)))
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "table", "table or json")
	return c
}

// checkGVisor says whether the sandbox of gVisor could be chosen instead.
func checkGVisor(settings config.Settings) sandbox.Finding {
	f := sandbox.Finding{Name: "gVisor (optional)", State: sandbox.StateOK}
	path, err := sandbox.Find(settings.Render.Runsc)
	switch {
	case err == nil:
		f.Detail = path
	case settings.Render.Sandbox == config.SandboxGVisor:
		f.State, f.Detail, f.Remedy = sandbox.StateMissing, err.Error(), "install runsc, or name it in render.runsc"
	default:
		f.State, f.Detail = sandbox.StateDegraded, "there is no "+settings.Render.Runsc
	}
	return f
}

var errUnconfined = errors.New("renders cannot be confined on this host")

// showCheck prints findings; one that is missing is an error.
func showCheck(w io.Writer, output string, findings []sandbox.Finding) error {
	missing := false
	for _, f := range findings {
		missing = missing || f.State == sandbox.StateMissing
	}
	switch output {
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(map[string]any{"findings": findings, "containerSettings": sandbox.ContainerSettings}); err != nil {
			return err
		}
	case "table":
		printFindings(w, findings)
		_, _ = fmt.Fprintf(w, "\nIn a container the render worker needs:\n\n%s", sandbox.ContainerSettings)
	default:
		return fmt.Errorf("--output %q: it is table or json", output)
	}
	if missing {
		return errUnconfined
	}
	return nil
}

func printFindings(w io.Writer, findings []sandbox.Finding) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "NEEDED\tSTATE\tFOUND")
	for _, f := range findings {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\n", f.Name, f.State, f.Detail)
	}
	_ = t.Flush()
	for _, f := range findings {
		if f.Remedy != "" {
			_, _ = fmt.Fprintf(w, "\n%s: %s\n", f.Name, f.Remedy)
		}
	}
}
