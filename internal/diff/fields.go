package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

// serverOnly are fields of metadata that change by themselves.
var serverOnly = map[string]bool{"managedFields": true, "resourceVersion": true, "generation": true, "uid": true, "creationTimestamp": true, "selfLink": true}

// Fields are the fields in which an object would be another one, with what they are
// and what they would be; a Secret's values are masked. Items of lists are told
// apart by their names where they have some.
func Fields(live, want map[string]any) []gitops.FieldChange {
	w := fieldWalk{}
	w.compare("", shown(live), shown(want))
	return w.changes
}

// shown is an object as it is compared: without its status, and with a Secret's
// values masked so that only whether they differ can be seen.
func shown(object map[string]any) map[string]any {
	out := maps.Clone(object)
	delete(out, "status")
	metadata, _ := out["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	maps.DeleteFunc(metadata, func(field string, _ any) bool { return serverOnly[field] })
	out["metadata"] = metadata
	return out
}

type fieldWalk struct{ changes []gitops.FieldChange }

func (w *fieldWalk) compare(path string, live, want any) {
	switch x := want.(type) {
	case map[string]any:
		if y, ok := live.(map[string]any); ok {
			w.maps(path, y, x)
			return
		}
	case []any:
		if y, ok := live.([]any); ok {
			w.lists(path, y, x)
			return
		}
	}
	if !same(live, want) {
		w.changes = append(w.changes, gitops.FieldChange{Path: path, Live: text(live), Want: text(want)})
	}
}

func (w *fieldWalk) maps(path string, live, want map[string]any) {
	all := maps.Clone(live)
	maps.Copy(all, want)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w.compare(path+fieldStep(name), live[name], want[name])
	}
}

// fieldStep is a field's step of a path; one that has dots in its name is quoted.
func fieldStep(name string) string {
	if strings.ContainsAny(name, `.[]"/ `) || name == "" {
		return "[" + strconv.Quote(name) + "]"
	}
	return "." + name
}

func (w *fieldWalk) lists(path string, live, want []any) {
	if !isNamed(live) || !isNamed(want) || len(live)+len(want) == 0 {
		for i := range max(len(live), len(want)) {
			w.compare(fmt.Sprintf("%s[%d]", path, i), item(live, i), item(want, i))
		}
		return
	}
	names := map[string]bool{}
	for _, it := range slices.Concat(live, want) {
		names[nameOf(it)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		of := func(list []any) any {
			return item(list, slices.IndexFunc(list, func(it any) bool { return nameOf(it) == name }))
		}
		w.compare(fmt.Sprintf("%s[name=%s]", path, name), of(live), of(want))
	}
}

func item(list []any, i int) any {
	if i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}

func same(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return sameScalar(a, b) || text(a) == text(b)
}

// text is a value in short: as JSON, and empty for none.
func text(v any) string {
	if v == nil {
		return ""
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// maxText bounds a value that people look at.
const maxText = 80

// Masked are changes as they may be kept and shown: short, and without the values of
// a Secret, of which is told whether they are added, changed or removed.
func Masked(key gitops.ObjectKey, changes []gitops.FieldChange) []gitops.FieldChange {
	secret := key.Group == "" && key.Kind == "Secret"
	out := make([]gitops.FieldChange, 0, len(changes))
	for _, c := range changes {
		if secret && !strings.HasPrefix(c.Path, ".metadata") && c.Path != ".type" {
			c.Live, c.Want = mask(c.Live), mask(c.Want)
		}
		c.Live, c.Want = short(c.Live), short(c.Want)
		out = append(out, c)
	}
	return out
}

func mask(value string) string {
	if value == "" {
		return ""
	}
	return manifest.Redacted
}

func short(value string) string {
	if len(value) <= maxText {
		return value
	}
	return strings.ToValidUTF8(value[:maxText], "") + "…"
}
