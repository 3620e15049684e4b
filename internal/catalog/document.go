package catalog

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/gitops"
)

// document is one object of the catalog, free of anchors and aliases.
type document struct {
	file string
	node *yaml.Node // a mapping
}

// kind is apiVersion/kind, as fields.yaml has it.
func (d document) kind() string {
	return text(get(d.node, "apiVersion")) + "/" + text(get(d.node, "kind"))
}

func (d document) name() string { return text(get(d.node, "metadata", "name")) }

func (d document) object() string {
	return nonEmpty(text(get(d.node, "kind")), "document") + "/" + d.name()
}

func (d document) reporter(problems *[]gitops.Problem) reporter {
	return reporter{problems: problems, file: d.file, object: d.object()}
}

var errorLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// parse takes a file apart into its documents. A document that is no YAML is a
// problem of its own; unreadable are the texts of those.
func parse(f file, problems *[]gitops.Problem) (docs []document, unreadable []string) {
	for _, c := range split(string(f.data)) {
		nodes, err := decode(c)
		if err != nil {
			*problems = append(*problems, gitops.Problem{File: f.name, Line: err.line, Message: err.message})
			unreadable = append(unreadable, c.text)
		}
		for _, n := range nodes {
			docs = append(docs, document{file: f.name, node: n})
		}
	}
	return docs, unreadable
}

// chunk is the text between two document markers.
type chunk struct {
	text  string
	first int // lines before it
}

// split cuts a file at its document markers, which no YAML value can contain at
// the start of a line, so that one broken document leaves the others readable.
func split(data string) []chunk {
	chunks := []chunk{{}}
	var lines []string
	flush := func() { chunks[len(chunks)-1].text = strings.Join(lines, "") }
	number := 0
	for line := range strings.Lines(data) {
		if isMarker(line) && len(lines) > 0 {
			flush()
			lines = lines[:0:0]
			chunks = append(chunks, chunk{first: number})
		}
		if strings.HasPrefix(line, "%") && onlyComments(lines) {
			line = "\n" // a directive belongs to the marker after it
		}
		lines = append(lines, line)
		number++
	}
	flush()
	return chunks
}

func isMarker(line string) bool {
	rest, found := strings.CutPrefix(line, "---")
	return found && (rest == "" || strings.ContainsRune(" \t\r\n", rune(rest[0])))
}

func onlyComments(lines []string) bool {
	for _, line := range lines {
		if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "#") {
			return false
		}
	}
	return true
}

// decode reads the objects of a chunk: none in an empty one, the items of a
// List.
func decode(c chunk) ([]*yaml.Node, *placedError) {
	var nodes []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(c.text)))
	for {
		var n yaml.Node
		err := decoder.Decode(&n)
		if errors.Is(err, io.EOF) {
			return nodes, nil
		}
		if err != nil {
			return nodes, placeError(err, c.first)
		}
		plain, wrong := expand(n.Content[0], c.first)
		if wrong != nil {
			return nodes, wrong
		}
		switch {
		case isNull(plain):
		case plain.Kind != yaml.MappingNode:
			return nodes, &placedError{plain.Line, "the document is no object; it needs apiVersion, kind and metadata"}
		case text(get(plain, "apiVersion")) == "v1" && text(get(plain, "kind")) == "List":
			items, wrong := listItems(plain)
			if wrong != nil {
				return nodes, wrong
			}
			nodes = append(nodes, items...)
		default:
			nodes = append(nodes, plain)
		}
	}
}

func listItems(list *yaml.Node) ([]*yaml.Node, *placedError) {
	items := get(list, "items")
	if isNull(items) {
		return nil, nil
	}
	for _, item := range items.Content {
		if items.Kind != yaml.SequenceNode || item.Kind != yaml.MappingNode {
			return nil, &placedError{items.Line, "items of a List must be objects"}
		}
	}
	return items.Content, nil
}

// placedError is what is wrong in a text, and where.
type placedError struct {
	line    int
	message string
}

func placeError(err error, first int) *placedError {
	found := errorLine.FindStringSubmatch(err.Error())
	if found == nil {
		return &placedError{first + 1, err.Error()}
	}
	line, _ := strconv.Atoi(found[1])
	return &placedError{first + max(line, 1), found[2]}
}
