package catalog

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// flatten names nested parameters with dots: metadata.labels.stage.
func flatten(params map[string]any) map[string]string {
	flat := map[string]string{}
	flattenInto(flat, "", params)
	return flat
}

func flattenInto(flat map[string]string, prefix string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			flattenInto(flat, strings.TrimPrefix(prefix+"."+key, "."), below)
		}
	case []any:
		for i, below := range v {
			flattenInto(flat, fmt.Sprintf("%s.%d", prefix, i), below)
		}
	case nil:
	default:
		flat[prefix] = fmt.Sprint(v)
	}
}

func widen(flat map[string]string) map[string]any {
	wide := make(map[string]any, len(flat))
	for key, value := range flat {
		wide[key] = value
	}
	return wide
}

func parameterNames(params map[string]any) []string {
	return slices.Sorted(maps.Keys(flatten(params)))
}

var notInNames = regexp.MustCompile(`[^-a-z0-9.]`)

// normalize makes a name that Kubernetes accepts, as Argo CD does.
func normalize(name string) string {
	name = notInNames.ReplaceAllString(strings.ToLower(name), "-")
	return strings.Trim(name[:min(len(name), 253)], "-.")
}
