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
	}{s, s.options.Ports, newSecret(), dir, s.options.Bin, UserTidegate}
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
