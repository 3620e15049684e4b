package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The environment variables that are read.
const (
	envFile         = "TIDEGATE_CONFIG"
	envGithubSecret = "TIDEGATE_WEBHOOK_GITHUB_SECRET" //nolint:gosec // a variable's name
)

// places are where a settings file is looked for when nobody names one.
var places = []string{"tidegate.yaml", filepath.Join(".local", "tidegate.yaml")}

// Load reads the settings file; an empty path means TIDEGATE_CONFIG, then
// ./tidegate.yaml, then ./.local/tidegate.yaml. Defaults come first, the file
// overrides them, and TIDEGATE_WEBHOOK_GITHUB_SECRET overrides the file. The
// error names every mistake by file and line.
func Load(path string) (Settings, error) {
	path, err := locate(path)
	if err != nil {
		return Settings{}, err
	}
	data, err := os.ReadFile(path) //nolint:gosec // the file that its user names
	if err != nil {
		return Settings{}, fmt.Errorf("read settings: %w", err)
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return Settings{}, fmt.Errorf("resolve the folder of %s: %w", path, err)
	}
	s, doc, err := parse(path, data)
	if err != nil {
		return Settings{}, err
	}
	if secret, set := os.LookupEnv(envGithubSecret); set {
		s.Webhook.GithubSecret = Secret(secret)
	}
	s.resolvePaths(folder)
	return s, s.check(doc)
}

func locate(path string) (string, error) {
	if path != "" {
		return path, nil
	}
	if path = os.Getenv(envFile); path != "" {
		return path, nil
	}
	for _, place := range places {
		switch _, err := os.Stat(place); {
		case err == nil:
			return place, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("look for settings: %w", err)
		}
	}
	return "", fmt.Errorf("%w: none of %s is here; name one with --config or %s", ErrNoFile, strings.Join(places, ", "), envFile)
}

// ErrNoFile means that nobody named a settings file and there is none to be found.
var ErrNoFile = errors.New("no settings file")

// Defaults are the settings of a file that says nothing.
func Defaults() Settings { return defaults() }

// parse decodes a settings file over the defaults.
func parse(path string, data []byte) (Settings, document, error) {
	doc := document{file: path}
	s := defaults()
	s.File = path
	if err := yaml.Unmarshal(data, &doc.root); err != nil {
		return s, doc, doc.explain(err)
	}
	if doc.empty() {
		return s, doc, nil
	}
	if err := doc.checkKeys(); err != nil {
		return s, doc, err
	}
	if err := doc.root.Decode(&s); err != nil {
		return s, doc, doc.explain(err)
	}
	return s, doc, nil
}

// UnmarshalYAML decodes a region over its defaults.
func (r *Region) UnmarshalYAML(node *yaml.Node) error {
	type plain Region
	p := plain(defaultRegion())
	if err := node.Decode(&p); err != nil {
		return err
	}
	*r = Region(p)
	r.Line = node.Line
	return nil
}
