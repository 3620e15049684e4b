package renderer

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// minSecret is the length below which hiding a value would only make a message
// unreadable.
const minSecret = 3

// secretsIn collects the values of Secrets that a build has read, so that they
// can be kept out of a message: those of manifests and patches, and those that a
// secretGenerator makes one of. Longest first, so that none leaves a rest.
func secretsIn(t *tree, references []reference) []string {
	found := map[string]bool{}
	files := map[string]bool{}
	for name := range t.reads {
		files[name] = true
	}
	for _, r := range references {
		if r.field == "secretGenerator" {
			text, _ := t.read(r.target())
			addLines(found, string(text))
			continue
		}
		files[r.target()] = true
	}
	for file := range files {
		text, err := t.read(file)
		if err != nil {
			continue
		}
		for _, d := range splitDocuments(text) {
			var root yaml.Node
			if yaml.Unmarshal(d.text, &root) == nil {
				addSecrets(found, &root)
			}
		}
	}
	values := make([]string, 0, len(found))
	for value := range found {
		if len(value) >= minSecret {
			values = append(values, value)
		}
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return values
}

// secretFields hold secret values wherever they are: in a Secret, in a patch of
// one, or in a secretGenerator. That data of others is hidden too does no harm.
var secretFields = map[string]bool{"data": true, "stringData": true, "literals": true, "value": true}

func addSecrets(found map[string]bool, node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && strings.Contains(node.Value, "\n") {
		addWritten(found, node.Value)
		return
	}
	if node.Kind != yaml.MappingNode {
		for _, inner := range node.Content {
			addSecrets(found, inner)
		}
		return
	}
	for name, value := range fields(node) {
		if secretFields[name] {
			addValues(found, value)
		} else {
			addSecrets(found, value)
		}
	}
}

// addWritten adds what a patch that is written in place holds, also when it does
// not parse.
func addWritten(found map[string]bool, text string) {
	var root yaml.Node
	if yaml.Unmarshal([]byte(text), &root) == nil {
		addSecrets(found, &root)
		return
	}
	for line := range strings.Lines(text) {
		parts := strings.Split(line, ": ")
		for _, value := range parts[1:] {
			found[strings.Trim(value, " \t\r\n\"'{}[],")] = true
		}
	}
}

func addValues(found map[string]bool, node *yaml.Node) {
	if node.Kind == yaml.ScalarNode {
		addLines(found, node.Value)
		if decoded, err := base64.StdEncoding.DecodeString(node.Value); err == nil {
			addLines(found, string(decoded))
		}
		return
	}
	for i, inner := range node.Content {
		if node.Kind != yaml.MappingNode || i%2 == 1 {
			addValues(found, inner)
		}
	}
}

// addLines adds a text, its lines, and of lines of the form key=value the value.
func addLines(found map[string]bool, text string) {
	found[text] = true
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		found[line] = true
		if _, value, ok := strings.Cut(line, "="); ok {
			found[strings.Trim(value, `"'`)] = true
		}
	}
}
