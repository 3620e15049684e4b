package manifest

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Redacted stands for a Secret's value wherever people look.
const Redacted = "(redacted)"

// Redact returns the object with a Secret's values masked; any other object is
// returned as it is.
func Redact(content map[string]any) map[string]any {
	if !isSecret(content) {
		return content
	}
	out := maps.Clone(content)
	for _, field := range []string{"data", "stringData"} {
		values, ok := content[field].(map[string]any)
		if !ok {
			continue
		}
		masked := make(map[string]any, len(values))
		for k := range values {
			masked[k] = Redacted
		}
		out[field] = masked
	}
	if metadata, ok := content["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		// kubectl's annotation repeats the whole object.
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			annotations = maps.Clone(annotations)
			delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
			metadata["annotations"] = annotations
		}
		out["metadata"] = metadata
	}
	return out
}

// RedactMessage masks a Secret's values in a message about it, both as they are
// in the object and decoded: a server may quote what it does not like.
func RedactMessage(content map[string]any, message string) string {
	if !isSecret(content) {
		return message
	}
	for _, value := range secretValues(content) {
		message = strings.ReplaceAll(message, value, Redacted)
	}
	return message
}

// secretValues returns the values, longest first: one may be part of another.
func secretValues(content map[string]any) []string {
	var values []string
	for _, field := range []string{"data", "stringData"} {
		m, _ := content[field].(map[string]any)
		for _, v := range m {
			s := fmt.Sprint(v)
			values = append(values, s)
			if decoded, err := base64.StdEncoding.DecodeString(s); err == nil {
				values = append(values, string(decoded), strings.TrimSpace(string(decoded)))
			}
		}
	}
	values = slices.DeleteFunc(values, func(s string) bool { return s == "" })
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return slices.Compact(values)
}
