package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/spelling"
)

const maxRendered = 1 << 20 // bytes of one rendered string

// templater renders one string of a template with parameters.
type templater func(text string, params map[string]any) (string, error)

// newTemplater returns Argo CD's two kinds of templates: Go's, and the older one
// that only puts parameters in.
func newTemplater(goTemplate bool, options []string) (templater, error) {
	if !goTemplate {
		return substitute, nil
	}
	for _, o := range options {
		if !slices.Contains([]string{"missingkey=default", "missingkey=invalid", "missingkey=zero", "missingkey=error"}, o) {
			return nil, fmt.Errorf("unknown option %s; use missingkey=error", o)
		}
	}
	parsed := map[string]*template.Template{} // by text: one template serves many Applications
	return func(text string, params map[string]any) (string, error) {
		if !strings.Contains(text, "{{") {
			return text, nil
		}
		t := parsed[text]
		if t == nil {
			var err error
			if t, err = template.New("").Funcs(templateFunctions).Option(options...).Parse(text); err != nil {
				return "", templateError(err, params)
			}
			parsed[text] = t
		}
		var out limitedBuffer
		if err := t.Execute(&out, params); err != nil {
			return "", templateError(err, params)
		}
		return out.String(), nil
	}, nil
}

// substitute puts parameters in for {{name}}. An unknown name stays, as in Argo
// CD; checkUnresolved finds it where it matters.
func substitute(text string, params map[string]any) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		tag, after, closed := strings.Cut(rest, "}}")
		if !found || !closed {
			b.WriteString(text)
			break
		}
		b.WriteString(before)
		if value, ok := params[strings.TrimSpace(tag)].(string); ok {
			b.WriteString(value)
		} else {
			b.WriteString("{{" + tag + "}}")
		}
		text = after
	}
	if b.Len() > maxRendered {
		return "", errTooLong
	}
	return b.String(), nil
}

var errTooLong = fmt.Errorf("the template gives more than %d KiB of text", maxRendered>>10)

// limitedBuffer stops a template that writes without end.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxRendered {
		return 0, errTooLong
	}
	return b.Buffer.Write(p)
}

var (
	templatePlace   = regexp.MustCompile(`^template: :\d+(:\d+)?: `)
	missingFunction = regexp.MustCompile(`function "(\w+)" not defined`)
)

// templateError says what a Go template stumbled over, without its own place:
// the field's is better.
func templateError(err error, params map[string]any) error {
	if errors.Is(err, errTooLong) {
		return errTooLong
	}
	text := templatePlace.ReplaceAllString(err.Error(), "")
	if name := missingFunction.FindStringSubmatch(text); name != nil {
		if slices.Contains(unavailable, name[1]) {
			return fmt.Errorf("function %s is not available: it may give another answer each time, or costs too much", name[1])
		}
		return fmt.Errorf("there is no function %s%s", name[1], spelling.Hint(name[1], slices.Collect(maps.Keys(templateFunctions))))
	}
	return fmt.Errorf("%s; the parameters are: %s", strings.TrimPrefix(text, `executing "" at `), list(parameterNames(params)))
}

// renderNode returns a copy of a template's node with every string rendered,
// keys too. Lines stay those of the template.
func renderNode(n *yaml.Node, field string, render func(text string, at *yaml.Node, field string) string) *yaml.Node {
	made := *n
	made.Content = nil
	for i, below := range n.Content {
		path := fmt.Sprintf("%s[%d]", field, i)
		if n.Kind == yaml.MappingNode {
			path = field + "." + n.Content[i-i%2].Value
		}
		made.Content = append(made.Content, renderNode(below, path, render))
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		made.Value, made.Tag, made.Style = render(n.Value, n, field), "!!str", yaml.DoubleQuotedStyle
	}
	return &made
}

// checkUnresolved refuses an Application in which a parameter was left out where
// it decides what is delivered, and where to.
func checkUnresolved(app *yaml.Node, params map[string]any, out reporter) {
	for _, path := range [][]string{{"metadata", "name"}, {"spec", "project"}, {"spec", "source"}, {"spec", "destination"}} {
		n := get(app, path...)
		if n == nil {
			continue
		}
		renderNode(n, strings.Join(path, "."), func(s string, at *yaml.Node, field string) string {
			if left := leftOver(s); left != "" {
				out.at(at, field, "%s has no value; the parameters are: %s", left, list(parameterNames(params)))
			}
			return s
		})
	}
}

func leftOver(s string) string {
	if _, rest, found := strings.Cut(s, "{{"); found {
		tag, _, _ := strings.Cut(rest, "}}")
		return "{{" + tag + "}}"
	}
	if strings.Contains(s, "<no value>") {
		return "a parameter"
	}
	return ""
}
