package catalog

import (
	"path"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
)

// plugin is spec.source.plugin.
type plugin struct {
	Name string `yaml:"name"`
	Env  []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	} `yaml:"env"`
	Parameters []struct {
		Name   string            `yaml:"name"`
		String *string           `yaml:"string"`
		Array  []string          `yaml:"array"`
		Map    map[string]string `yaml:"map"`
	} `yaml:"parameters"`
}

func (p plugin) options() *gitops.Plugin {
	o := gitops.Plugin{Name: p.Name}
	for _, e := range p.Env {
		o.Env = append(o.Env, gitops.EnvVar(e))
	}
	for _, parameter := range p.Parameters {
		o.Parameters = append(o.Parameters, gitops.PluginParameter(parameter))
	}
	return &o
}

// generatePaths is the annotation that says what a render depends on.
const generatePaths = "argocd.argoproj.io/manifest-generate-paths"

// readGeneratePaths reads its list: paths with semicolons between them, relative to
// a source's path, or to the root when they begin with a slash.
func readGeneratePaths(text, folder string) (paths []string, wrong string) {
	for entry := range strings.SplitSeq(text, ";") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		at := path.Join(folder, entry)
		if path.IsAbs(entry) {
			at = strings.TrimPrefix(path.Clean(entry), "/")
		}
		clean, ok := cleanPath(at)
		if !ok {
			return nil, entry
		}
		paths = append(paths, clean)
	}
	return paths, ""
}
