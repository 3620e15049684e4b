// Package cli is the verbs of the `tidegate` command. They speak to the API of
// `tidegate serve` and to nothing else.
package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidegate/tidegate/internal/config"
	"github.com/tidegate/tidegate/starter/client"
	"github.com/tidegate/tidegate/starter/screen"
)

// Surroundings is where the command runs.
type Surroundings struct {
	In       io.Reader
	Out, Err io.Writer
	// Size is the terminal's columns and rows; nil when Out is not a terminal.
	Size    func() (width, height int)
	Palette screen.Palette
	Asks    bool   // somebody is there to answer a question
	User    string // who decides, unless --by says another name
	Version string
}

// program is the surroundings and what the global flags say.
type program struct {
	Surroundings
	config string
	server string
	output string
}

// Command returns the whole command. Serve is what `tidegate serve` does.
func Command(s Surroundings, serve func(context.Context, config.Settings) error) *cobra.Command {
	p := &program{Surroundings: s}
	root := &cobra.Command{
		Use:   "tidegate",
		Short: "Durable GitOps delivery to a fleet of Kubernetes regions",
		Long: "Tidegate delivers what Git says to a fleet of Kubernetes regions, stage by\n" +
			"stage, in sync waves, through promotion gates.\n\n" +
			"A Delivery is named project/name, a rollout project/name/stage/number; the\n" +
			"project may be left out where that is clear.",
		SilenceUsage: true, SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return p.check() },
	}
	root.SetIn(s.In)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", screen.Width)))
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	flags := root.PersistentFlags()
	flags.StringVar(&p.config, "config", "", "settings `file` (default: tidegate.yaml, then .local/tidegate.yaml)")
	flags.StringVar(&p.server, "server", "", "`URL` of the API (default: of the settings, or "+defaultServer+")")
	flags.StringVarP(&p.output, "output", "o", "table", "`format`: table or json")
	root.AddCommand(p.serve(serve), p.get(), p.rollout(), p.approve(), p.reject(), p.sync(), p.rollback(), p.abandon(), p.validate(), p.version())
	return root
}

func (p *program) check() error {
	if p.output != "table" && p.output != "json" {
		return fmt.Errorf("--output %s: use table or json", p.output)
	}
	return nil
}

func (p *program) serve(serve func(context.Context, config.Settings) error) *cobra.Command {
	return &cobra.Command{
		Use: "serve", Args: cobra.NoArgs,
		Short: "Take webhooks, answer the API, keep Tidegate's workflows running",
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := config.Load(p.config)
			if err != nil {
				return err
			}
			return serve(cmd.Context(), settings)
		},
	}
}

func (p *program) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Args: cobra.NoArgs, Short: "Say which version this is",
		RunE: func(*cobra.Command, []string) error {
			if p.output == "json" {
				return p.json(map[string]string{"version": p.Version})
			}
			return p.print("tidegate " + p.Version)
		},
	}
}

// defaultServer is what the settings' defaults listen on.
const defaultServer = "http://127.0.0.1:8081"

// client finds the server: by the flag, by the settings, or by default when
// there are none.
func (p *program) client() (client.Client, error) {
	if p.server != "" {
		return client.Client{Server: p.server}, nil
	}
	settings, err := config.Load(p.config)
	switch {
	case err == nil:
		return client.Client{Server: "http://" + settings.API.Listen}, nil
	case p.config == "" && isNoFile(err):
		return client.Client{Server: defaultServer}, nil
	}
	return client.Client{}, err
}

// isNoFile says whether config.Load has found no settings file anywhere.
func isNoFile(err error) bool { return strings.HasPrefix(err.Error(), "no settings file") }

// width is the columns of the output; 0 when it is not a terminal.
func (p *program) width() int {
	if p.Size == nil {
		return 0
	}
	width, _ := p.Size()
	return width
}

// textWidth is what sentences are wrapped to.
func (p *program) textWidth() int {
	if width := p.width(); width > 0 {
		return width
	}
	return screen.Width
}

// print writes lines.
func (p *program) print(lines ...string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(p.Out, line); err != nil {
			return err
		}
	}
	return nil
}

// show writes an answer of the API as JSON, or as the lines that table makes.
func (p *program) show(answer any, table func() []string) error {
	if p.output == "json" {
		return p.json(answer)
	}
	return p.print(table()...)
}

// warn writes lines where they are not part of an answer.
func (p *program) warn(lines ...string) {
	for _, line := range lines {
		_, _ = fmt.Fprintln(p.Err, line) // there is no other place to say it
	}
}

func (p *program) json(value any) error {
	encoder := json.NewEncoder(p.Out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
