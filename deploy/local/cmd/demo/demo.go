package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/tidegate/tidegate/deploy/local/stack"
	"github.com/tidegate/tidegate/internal/config"
)

// demo knows where everything is.
type demo struct {
	options
	stack    *stack.Stack
	settings config.Settings
	bare     string // the repository that is pushed to
	work     string // the work tree it is pushed from
	revision string // the commit that was pushed
}

func newDemo(o options, s *stack.Stack) (*demo, error) {
	settings, err := config.Load(s.Settings)
	if err != nil {
		return nil, err
	}
	root := settings.Git.FileRoot
	return &demo{options: o, stack: s, settings: settings, bare: filepath.Join(root, "shop.git"), work: filepath.Join(root, "shop")}, nil
}

// delivery is the Delivery that the sample catalog declares.
func (d *demo) delivery() string { return "default/shop" }

func (d *demo) bin(name string) string { return filepath.Join(d.stack.Dir, "bin", name) }

// startTidegate starts both programs, or leaves alone what runs.
func (d *demo) startTidegate(ctx context.Context) error {
	for _, program := range []struct {
		name string
		argv []string
		at   string
	}{
		{"tidegate-worker", []string{d.bin("tidegate-worker"), "--config", d.stack.Settings}, d.settings.Worker.Metrics},
		{"tidegate-serve", []string{d.bin("tidegate"), "serve", "--config", d.stack.Settings}, d.settings.Metrics.Listen},
	} {
		if _, runs := stack.Find(d.stack.Dir, program.name); runs {
			fmt.Printf("   %-20s runs already\n", program.name)
			continue
		}
		began := time.Now()
		command := stack.Command{Name: program.name, Argv: program.argv, Detached: true}
		if _, err := stack.Run(ctx, d.stack.Dir, command, answers("http://"+program.at+"/readyz")); err != nil {
			return err
		}
		fmt.Printf("   %-20s ready after %.1f s\n", program.name, time.Since(began).Seconds())
	}
	return nil
}

// answers says whether a URL does.
func answers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close() //nolint:errcheck // nothing was written
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, response.Status)
		}
		return nil
	}
}

// writeRepository makes the repository with its hook, a clone of it, and the
// catalog that points at it. What is there stays.
func (d *demo) writeRepository(ctx context.Context) error {
	if _, err := os.Stat(d.bare); err != nil {
		if err := d.git(ctx, "", "init", "--quiet", "--bare", "--initial-branch=main", d.bare); err != nil {
			return err
		}
		if err := d.git(ctx, "", "clone", "--quiet", d.bare, d.work); err != nil {
			return err
		}
	}
	if err := d.writeHook(); err != nil {
		return err
	}
	return d.writeCatalog()
}

// writeHook has each push posted to the webhook, as a Git host would.
func (d *demo) writeHook() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	line := fmt.Sprintf("#!/bin/sh\nexec '%s' post-receive --config '%s' --repository '%s'\n", self, d.stack.Settings, d.url())
	if d.poll {
		line = "#!/bin/sh\n# No webhook: Tidegate finds the push by polling.\n"
	}
	return os.WriteFile(filepath.Join(d.bare, "hooks", "post-receive"), []byte(line), 0o700)
}

func (d *demo) url() string { return "file://" + d.bare }

// writeCatalog fills in where the repository is.
func (d *demo) writeCatalog() error {
	names, err := filepath.Glob(filepath.Join(d.examples, "catalog", "*.yaml"))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("look for the sample catalog in %s: %w", d.examples, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var filled bytes.Buffer
		t, err := template.New(name).Delims("<<", ">>").Parse(string(text))
		if err == nil {
			err = t.Execute(&filled, map[string]string{"RepoURL": d.url()})
		}
		if err != nil {
			return fmt.Errorf("fill in %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(d.settings.Catalog.Path, filepath.Base(name)), filled.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// push commits the sample, or a newer image of it, and pushes it.
func (d *demo) push(ctx context.Context) error {
	if err := os.CopyFS(filepath.Join(d.work, "app"), os.DirFS(filepath.Join(d.examples, "app"))); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("copy the sample: %w", err)
	}
	message := "The shop, version 1.0.0"
	if d.git(ctx, d.work, "rev-parse", "--quiet", "--verify", "HEAD") == nil {
		version, err := d.raiseVersion()
		if err != nil {
			return err
		}
		message = "The shop's frontend, version " + version
	}
	for _, args := range [][]string{
		{"add", "--all"},
		{"-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "--quiet", "--message", message},
		{"push", "--quiet", "origin", "HEAD:main"},
	} {
		if err := d.git(ctx, d.work, args...); err != nil {
			return err
		}
	}
	head, err := exec.CommandContext(ctx, "git", "-C", d.work, "rev-parse", "HEAD").Output()
	if err != nil {
		return fmt.Errorf("read the head of %s: %w", d.work, err)
	}
	d.revision = strings.TrimSpace(string(head))
	fmt.Printf("   pushed %s: %s\n", d.revision[:7], message)
	return nil
}

// git runs git and shows what it prints only when it goes wrong.
func (d *demo) git(ctx context.Context, dir string, args ...string) error {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// tidegate runs one of the user's verbs, on this terminal.
func (d *demo) tidegate(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, d.bin("tidegate"), append(args, "--config", d.stack.Settings)...)
	command.Stdout, command.Stderr, command.Stdin = os.Stdout, os.Stderr, os.Stdin
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	if err := command.Run(); err != nil {
		return fmt.Errorf("tidegate %s: %w", strings.Join(args, " "), err)
	}
	return nil
}
