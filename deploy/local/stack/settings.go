package stack

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/tidegate/tidegate/internal/config"
	"github.com/tidegate/tidegate/internal/sandbox"
)

//go:embed tidegate.yaml.tmpl
var settingsText string

var settingsTemplate = template.Must(template.New("tidegate.yaml").Funcs(template.FuncMap{"quote": quote, "labels": flowMap}).Parse(settingsText))

// writeSettings writes tidegate.yaml, with which Tidegate's own programs use this stack, and makes the folders it names.
func (s *Stack) writeSettings() error {
	dir := s.options.Dir
	values := struct {
		*Stack
		Ports   Ports
		Secret  string
		Dir     string
		Bin     string
		Context string
		Sandbox string
	}{s, s.options.Ports, newSecret(), dir, s.options.Bin, UserTidegate, Sandbox(s.options.Bin)}
	if values.Sandbox == config.SandboxNone {
		s.options.Progress("renders run without a sandbox: this host cannot confine them, or not for this user; `tidegate-worker check` says why")
	}
	var text bytes.Buffer
	if err := settingsTemplate.Execute(&text, values); err != nil {
		return fmt.Errorf("write %s: %w", s.Settings, err)
	}
	for _, folder := range []string{"artifacts", "mirrors", filepath.Join("demo", "catalog")} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o750); err != nil {
			return err
		}
	}
	return writeFile(s.Settings, text.Bytes())
}

// Sandbox is what renders run in on this host, for a stack whose user trusts what
// is rendered: the native sandbox where there can be one.
func Sandbox(bin string) string {
	program := filepath.Join(bin, "tidegate-render")
	findings := sandbox.Check(sandbox.Options{Program: program})
	_, notBuilt := os.Stat(program)
	if slices.ContainsFunc(findings, func(f sandbox.Finding) bool {
		return f.State == sandbox.StateMissing && (notBuilt == nil || f.Name != sandbox.NativeFinding)
	}) {
		return config.SandboxNone
	}
	return config.SandboxNative
}

// quote writes a YAML string that may hold anything but control characters.
func quote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// flowMap writes the labels in one line, sorted.
func flowMap(labels map[string]string) string {
	entries := make([]string, 0, len(labels))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		entries = append(entries, name+": "+quote(labels[name]))
	}
	return "{" + strings.Join(entries, ", ") + "}"
}
