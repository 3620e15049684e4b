package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/render/plugin"
	"github.com/tidegate/tidegate/internal/sandbox"
	"github.com/tidegate/tidegate/internal/spelling"
)

// PluginCall says which plugin renders a folder, and with what environment.
type PluginCall struct {
	Name string
	Env  []string // NAME=value
}

// PluginOf returns the name of the plugin that a folder is for; empty when there is
// none. The name that the source itself gives must be that of a plugin.
func (e *Engine) PluginOf(ctx context.Context, tree, folder, named string, env []string) (string, error) {
	if named != "" {
		if _, ok := e.plugin(named); !ok {
			return "", &Error{Kind: KindUnsupported, File: folder, Message: fmt.Sprintf(
				"there is no plugin called %s%s; the settings of the render worker list them in render.plugins", named, e.nearest(named))}
		}
		return named, nil
	}
	for _, p := range e.Plugins {
		matches, err := e.matches(ctx, p, tree, folder, env)
		if err != nil || matches {
			return p.Name, err
		}
	}
	return "", nil
}

// Discovers says whether a folder may be a plugin's without naming it.
func (e *Engine) Discovers() bool {
	return slices.ContainsFunc(e.Plugins, func(p plugin.Plugin) bool { return !p.Discover.IsZero() })
}

func (e *Engine) plugin(name string) (plugin.Plugin, bool) {
	at := slices.IndexFunc(e.Plugins, func(p plugin.Plugin) bool { return p.Name == name })
	if at < 0 {
		return plugin.Plugin{}, false
	}
	return e.Plugins[at], true
}

func (e *Engine) nearest(name string) string {
	names := map[string]bool{}
	for _, p := range e.Plugins {
		names[p.Name] = true
	}
	if len(names) == 0 {
		return ""
	}
	const count = 3
	return "; nearest: " + strings.Join(spelling.Closest(name, slices.Sorted(maps.Keys(names)), count), ", ")
}

// matches says whether a plugin is for a folder.
func (e *Engine) matches(ctx context.Context, p plugin.Plugin, tree, folder string, env []string) (bool, error) {
	if len(p.Discover.Command) > 0 {
		answer, err := e.Sandbox.Run(ctx, e.pluginJob(p, Request{Tree: tree, Path: folder, Plugin: &PluginCall{Name: p.Name, Env: env}}, p.Discover.Command))
		if errors.Is(err, sandbox.ErrCrashed) {
			return false, nil // it has said no
		}
		if err != nil {
			return false, e.blamePlugin(p, Request{Path: folder}, err)
		}
		return len(strings.TrimSpace(string(answer.Output))) > 0, nil
	}
	if p.Discover.IsZero() {
		return false, nil
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return false, fmt.Errorf("open the checkout: %w", err)
	}
	defer func() { _ = root.Close() }()
	within, err := root.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) || err != nil {
		return false, nil //nolint:nilerr // the renderer says what is wrong with the folder
	}
	defer func() { _ = within.Close() }()
	return p.Discover.Match(within.FS())
}

// renderPlugin runs a plugin, and has what it prints read by the renderer program:
// in a sandbox of its own again.
func (e *Engine) renderPlugin(ctx context.Context, r Request) (Result, error) {
	p, ok := e.plugin(r.Plugin.Name)
	if !ok {
		return Result{}, fmt.Errorf("there is no plugin called %s any more", r.Plugin.Name)
	}
	if err := checkFolder(r); err != nil {
		return Result{Renderer: RendererPlugin}, err
	}
	if size := len(strings.Join(r.Plugin.Env, "\n")); size > maxEnvironment {
		return Result{Renderer: RendererPlugin}, &Error{Kind: KindBuild, File: r.Path, Message: fmt.Sprintf("the environment of the plugin has %d bytes; %d are possible: set less in plugin.env and plugin.parameters", size, maxEnvironment)}
	}
	answer, err := e.Sandbox.Run(ctx, e.pluginJob(p, r, p.Commands()...))
	if err != nil {
		return Result{Renderer: RendererPlugin}, e.blamePlugin(p, r, err)
	}
	result, err := e.run(ctx, Request{Tree: r.Tree, Path: r.Path, Documents: answer.Output, Made: "the output of plugin " + p.Name, Substitute: r.Substitute})
	result.Renderer = RendererPlugin
	return result, err
}

func (e *Engine) pluginJob(p plugin.Plugin, r Request, commands ...[]string) sandbox.Job {
	job := e.job(r)
	job.Path, job.Subdir, job.Root, job.Env = "", r.Path, p.Root, r.Plugin.Env
	for _, c := range commands {
		job.Commands = append(job.Commands, c)
	}
	return job
}

// checkFolder refuses a folder that is not there before a plugin stumbles over it.
func checkFolder(r Request) error {
	root, err := os.OpenRoot(r.Tree)
	if err != nil {
		return fmt.Errorf("open the checkout: %w", err)
	}
	defer func() { _ = root.Close() }()
	info, err := root.Stat(r.Path)
	if err != nil || !info.IsDir() {
		return &Error{Kind: KindPath, File: r.Path, Message: "there is no such folder in the repository"}
	}
	return nil
}

// maxEnvironment bounds what a plugin is told, in bytes.
const maxEnvironment = 96 << 10

// maxPluginSays is how much people are shown of what a plugin that failed wrote.
const maxPluginSays = 1000

// blamePlugin is blame with what a plugin itself says about it.
func (e *Engine) blamePlugin(p plugin.Plugin, r Request, err error) error {
	var ended *sandbox.Error
	if !errors.Is(err, sandbox.ErrCrashed) || !errors.As(err, &ended) {
		return e.blame(r, err)
	}
	says := strings.TrimSpace(ended.Stderr)
	if len(says) > maxPluginSays {
		says = "… " + strings.ToValidUTF8(says[len(says)-maxPluginSays:], "")
	}
	return &Error{Kind: KindPlugin, File: r.Path, Message: fmt.Sprintf("plugin %s failed: %s", p.Name, says)}
}
