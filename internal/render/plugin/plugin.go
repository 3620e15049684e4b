package plugin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"go.yaml.in/yaml/v3"
)

// Plugin makes manifests of a folder by commands.
type Plugin struct {
	Name     string // metadata.name, with -version where there is one
	Init     []string
	Generate []string
	Discover Discover
	Root     string // a folder with what the commands need; the host's own programs when it is empty
	// Digest is that of the file: another one may make other manifests.
	Digest string
}

// Discover says which folders a plugin is for. One without any rule is for those
// that name it.
type Discover struct {
	FileName string   // a pattern of files in the folder itself
	Glob     string   // a pattern of files in the folder or below it
	Command  []string // one that prints something there
}

// IsZero says whether there is no rule.
func (d Discover) IsZero() bool { return d.FileName == "" && d.Glob == "" && len(d.Command) == 0 }

// Commands are those that make manifests.
func (p Plugin) Commands() [][]string {
	if len(p.Init) == 0 {
		return [][]string{p.Generate}
	}
	return [][]string{p.Init, p.Generate}
}

// command is how a file writes a command.
type command struct {
	Command []string `yaml:"command"`
	Args    []string `yaml:"args"`
}

func (c *command) words() []string {
	if c == nil {
		return nil
	}
	return append(append([]string{}, c.Command...), c.Args...)
}

// file is a ConfigManagementPlugin.
type file struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name        string            `yaml:"name"`
		Labels      map[string]string `yaml:"labels"`
		Annotations map[string]string `yaml:"annotations"`
	} `yaml:"metadata"`
	Spec struct {
		Version  string   `yaml:"version"`
		Init     *command `yaml:"init"`
		Generate *command `yaml:"generate"`
		Discover struct {
			FileName string `yaml:"fileName"`
			Find     struct {
				command `yaml:",inline"`
				Glob    string `yaml:"glob"`
			} `yaml:"find"`
		} `yaml:"discover"`
		Parameters       yaml.Node `yaml:"parameters"` // announced to people only
		PreserveFileMode bool      `yaml:"preserveFileMode"`
		ProvideGitCreds  bool      `yaml:"provideGitCreds"`
		AllowConcurrency *bool     `yaml:"allowConcurrency"`
		LockRepo         bool      `yaml:"lockRepo"`
	} `yaml:"spec"`
}

const (
	apiVersion = "argoproj.io/v1alpha1"
	kind       = "ConfigManagementPlugin"
)

// Parse reads a plugin's file. The error has no file name: the caller knows it.
func Parse(text []byte) (Plugin, error) {
	var f file
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&f); err != nil {
		if errors.Is(err, io.EOF) {
			return Plugin{}, errors.New("it is empty; it must be a " + kind)
		}
		return Plugin{}, errors.New(strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " "))
	}
	p := Plugin{
		Name: f.Metadata.Name, Init: f.Spec.Init.words(), Generate: f.Spec.Generate.words(),
		Discover: Discover{FileName: f.Spec.Discover.FileName, Glob: f.Spec.Discover.Find.Glob, Command: f.Spec.Discover.Find.words()},
	}
	sum := sha256.Sum256(text)
	p.Digest = hex.EncodeToString(sum[:])
	if f.Spec.Version != "" {
		p.Name += "-" + f.Spec.Version
	}
	return p, f.check(p)
}

func (f file) check(p Plugin) error {
	rules := 0
	for _, has := range []bool{p.Discover.FileName != "", p.Discover.Glob != "", len(p.Discover.Command) > 0} {
		if has {
			rules++
		}
	}
	switch {
	case f.APIVersion != apiVersion || f.Kind != kind:
		return fmt.Errorf("it is %s of %s; it must be %s of %s", f.Kind, f.APIVersion, kind, apiVersion)
	case f.Metadata.Name == "":
		return errors.New("metadata.name is missing")
	case len(p.Generate) == 0 || p.Generate[0] == "":
		return errors.New("spec.generate.command is missing")
	case f.Spec.Init != nil && len(f.Spec.Init.Command) == 0:
		return errors.New("spec.init has no command")
	case f.Spec.ProvideGitCreds:
		return errors.New("spec.provideGitCreds is not supported: a render has no network; remove it, and let Kustomize or Helm sources refer to what is elsewhere")
	case rules > 1:
		return errors.New("spec.discover has more than one rule; keep one of fileName, find.glob and find.command")
	}
	for field, pattern := range map[string]string{"fileName": p.Discover.FileName, "find.glob": p.Discover.Glob} {
		if pattern != "" && !doublestar.ValidatePattern(pattern) {
			return fmt.Errorf("spec.discover.%s: %q is not a pattern", field, pattern)
		}
	}
	return nil
}
