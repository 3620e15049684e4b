package catalog

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/spelling"
)

//go:embed fields.yaml
var fieldsFile []byte

// schema is fields.yaml, read when it is first needed.
var schema = sync.OnceValue(func() (t fieldTable) {
	if err := yaml.Unmarshal(fieldsFile, &t); err != nil {
		panic(fmt.Sprintf("read fields.yaml: %v", err))
	}
	return t
})

type fieldTable struct {
	Kinds map[string]rule `yaml:"kinds"` // by apiVersion/kind
}

// rule says how one field is read: by its class, by the fields below it, or by
// the rule of its items.
type rule struct {
	class  string
	note   string // of a class later: the way out
	fields map[string]rule
	items  *rule
}

const (
	classLater    = "later"
	classHarmless = "harmless"
)

// UnmarshalYAML reads the notation that the head of fields.yaml explains.
func (r *rule) UnmarshalYAML(n *yaml.Node) error {
	switch n.Kind {
	case yaml.MappingNode:
		r.fields = map[string]rule{}
		return n.Decode(&r.fields)
	case yaml.SequenceNode:
		r.items = &rule{}
		return n.Content[0].Decode(r.items)
	default:
		r.class, r.note = splitClass(n.Value)
		if checks[r.class] == nil && r.class != classLater && r.class != classHarmless {
			return fmt.Errorf("line %d: no class is called %q", n.Line, r.class)
		}
		return nil
	}
}

func splitClass(text string) (class, note string) {
	class, note, _ = strings.Cut(text, ", ")
	return class, note
}

// check reports everything below a node that its rule does not allow.
func (r rule) check(n *yaml.Node, path string, out reporter) {
	switch {
	case r.class == classHarmless || isNull(n):
	case r.class == classLater:
		if !isBlank(n) {
			out.at(n, path, "%s", notYet(path, r.note))
		}
	case r.items != nil:
		if n.Kind != yaml.SequenceNode {
			out.at(n, path, "%s must be a list", path)
			return
		}
		for i, item := range n.Content {
			r.items.check(item, fmt.Sprintf("%s[%d]", path, i), out)
		}
	case r.fields != nil:
		r.checkFields(n, path, out)
	default:
		if wrong := checks[r.class](n); wrong != "" {
			out.at(n, path, "%s %s", path, wrong)
		}
	}
}

func (r rule) checkFields(n *yaml.Node, path string, out reporter) {
	if n.Kind != yaml.MappingNode {
		out.at(n, path, "%s must be a mapping of fields", nonEmpty(path, "the document"))
		return
	}
	for key, value := range pairs(n) {
		field := strings.TrimPrefix(path+"."+key.Value, ".")
		if below, known := r.fields[key.Value]; known {
			below.check(value, field, out)
			continue
		}
		out.at(key, field, "unknown field %s%s", field, spelling.Hint(key.Value, slices.Sorted(maps.Keys(r.fields))))
	}
}

// checks say what is wrong with a value of a type; "" when nothing is.
var checks = map[string]func(*yaml.Node) string{
	"any":     func(*yaml.Node) string { return "" },
	"string":  checkString,
	"bool":    checkBool,
	"number":  checkNumber,
	"strings": checkStrings,
	"map":     checkMap,
}

func checkString(n *yaml.Node) string {
	switch {
	case n.Kind != yaml.ScalarNode:
		return "must be a string"
	case n.ShortTag() != "!!str":
		return fmt.Sprintf("must be a string; quote it: %q", n.Value)
	}
	return ""
}

func checkBool(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		return "must be true or false"
	}
	return ""
}

func checkNumber(n *yaml.Node) string {
	if _, err := strconv.ParseUint(n.Value, 10, 31); n.Kind != yaml.ScalarNode || err != nil {
		return "must be a number that is not negative"
	}
	return ""
}

func checkStrings(n *yaml.Node) string {
	if n.Kind != yaml.SequenceNode {
		return "must be a list of strings"
	}
	for i, item := range n.Content {
		if wrong := checkString(item); wrong != "" {
			return fmt.Sprintf("has an item (%d) that %s", i, wrong)
		}
	}
	return ""
}

func checkMap(n *yaml.Node) string {
	if n.Kind != yaml.MappingNode {
		return "must be a mapping of strings"
	}
	for key, value := range pairs(n) {
		if wrong := checkString(value); wrong != "" {
			return fmt.Sprintf("has a value (of %s) that %s", key.Value, wrong)
		}
	}
	return ""
}

func notYet(what, note string) string {
	if note == "" {
		return what + " is known but not supported yet"
	}
	return what + " is known but not supported yet: " + note
}

func nonEmpty(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
