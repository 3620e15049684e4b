package renderer

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/tidegate/tidegate/internal/render"
)

// document is one document of a YAML file.
type document struct {
	line int // where it begins
	text []byte
}

// splitDocuments cuts a file at the lines that separate documents. A separator
// stays with what follows it, since it may have content on its own line; lines
// are counted in the file.
func splitDocuments(text []byte) []document {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var documents []document
	start, first, number := 0, 1, 0
	for offset := 0; offset < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[offset:], '\n'); i >= 0 {
			end = offset + i + 1
		}
		number++
		line := text[offset:end]
		switch {
		case isSeparator(line, "---") && offset > start:
			documents = append(documents, document{first, text[start:offset]})
			start, first = offset, number
		case isSeparator(line, "..."):
			documents = append(documents, document{first, text[start:offset]})
			start, first = end, number+1
		}
		offset = end
	}
	return append(documents, document{first, text[start:]})
}

func isSeparator(line []byte, mark string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(mark))
	return ok && (len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}

// isBlank says whether a document has no content: only a separator, comments and
// directives.
func (d document) isBlank() bool {
	for line := range bytes.Lines(d.text) {
		if isSeparator(line, "---") {
			line = line[3:]
		}
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}

// decode returns the document as JSON text.
func (d document) decode(file string) ([]byte, error) {
	encoded, err := yaml.YAMLToJSON(d.text)
	if err != nil {
		line, message := explainYAML(err.Error())
		return nil, &render.Error{Kind: render.KindParse, File: file, Line: d.line + max(0, line-1), Message: message}
	}
	return encoded, nil
}

var (
	yamlLine = regexp.MustCompile(`line (\d+): `)
	quoted   = regexp.MustCompile("(?s)[\"'`][^\"'`]{4,}[\"'`]")
)

// explainYAML takes the line out of a parser's message, and whatever it quotes
// of the file: that may be a Secret's value.
func explainYAML(message string) (line int, shown string) {
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = yamlLine.ReplaceAllString(message, "")
	}
	message = strings.TrimPrefix(strings.TrimPrefix(message, "error converting YAML to JSON: "), "yaml: ")
	switch {
	case strings.Contains(message, "unknown anchor"):
		message = "unknown anchor; a value that begins with * must be quoted"
	case strings.Contains(message, "map key"):
		message = "a key that is neither text nor a number"
	}
	message, _, _ = strings.Cut(message, "\n")
	return line, "it is not YAML: " + quoted.ReplaceAllString(message, "…")
}
