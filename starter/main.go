// Command tidegate is what people and Git hosts speak to: `tidegate serve`
// takes webhooks and answers the API, the other verbs call that API.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"os/user"
	"runtime/debug"
	"syscall"

	"golang.org/x/term"

	"github.com/tidegate/tidegate/internal/config"
	"github.com/tidegate/tidegate/internal/telemetry"
	"github.com/tidegate/tidegate/starter/cli"
	"github.com/tidegate/tidegate/starter/screen"
	"github.com/tidegate/tidegate/starter/serve"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := cli.Command(surroundings(), run).ExecuteContext(ctx)
	if err == nil {
		return
	}
	if !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "tidegate:", err)
	}
	os.Exit(cli.ExitCode(err))
}

// run is `tidegate serve`.
func run(ctx context.Context, settings config.Settings) error {
	log, err := telemetry.NewLogger(telemetry.LogOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = log.Sync() }()
	return serve.Run(ctx, serve.Options{Settings: settings, Version: version(), Log: log})
}

// surroundings is where this process runs.
func surroundings() cli.Surroundings {
	out := int(os.Stdout.Fd())
	s := cli.Surroundings{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Version: version(), User: userName(),
		Asks: term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(out),
	}
	if !term.IsTerminal(out) {
		return s
	}
	s.Size = func() (width, height int) {
		if width, height, err := term.GetSize(out); err == nil && width > 0 {
			return width, height
		}
		return screen.Width, 0
	}
	s.Palette.Colours = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// version is the module's, or the commit that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && info.Main.Version == "(devel)" {
			return s.Value
		}
	}
	return info.Main.Version
}
