// Package manifest turns a rendered bundle into the objects that a target
// wants: parsed, named, checked, marked as Tidegate's, and with a digest each.
// It is pure: what it must know of a region (which kinds live in a namespace) is
// passed in as a function.
package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/tidegate/tidegate/internal/gitops"
)

// ErrInvalid means that a bundle holds something that no region would take; it
// is mended in Git.
var ErrInvalid = errors.New("invalid manifest")

// Parse decodes a bundle: a JSON list of Kubernetes objects. Lists among them
// are replaced by their items. Every object that is returned has an apiVersion,
// a kind, and a name or the beginning of one; whole numbers are int64.
func Parse(bundle []byte) ([]map[string]any, error) {
	var docs []any
	if err := utiljson.Unmarshal(bundle, &docs); err != nil {
		return nil, fmt.Errorf("%w: decode the bundle: %w", ErrInvalid, err)
	}
	objects := make([]map[string]any, 0, len(docs))
	for i, doc := range docs {
		var err error
		if objects, err = appendObject(objects, doc, fmt.Sprintf("object %d of the bundle", i+1)); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

func appendObject(objects []map[string]any, doc any, place string) ([]map[string]any, error) {
	object, ok := doc.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%w: %s is not an object", ErrInvalid, place)
	}
	if items, ok := object["items"].([]any); ok && strings.HasSuffix(text(object, "kind"), "List") {
		for i, item := range items {
			var err error
			if objects, err = appendObject(objects, item, fmt.Sprintf("item %d of %s", i+1, place)); err != nil {
				return nil, err
			}
		}
		return objects, nil
	}
	if err := checkIdentity(object, place); err != nil {
		return nil, err
	}
	return append(objects, object), nil
}

func checkIdentity(object map[string]any, place string) error {
	kind := text(object, "kind")
	_, groupErr := schema.ParseGroupVersion(text(object, "apiVersion"))
	metadata, _ := object["metadata"].(map[string]any)
	switch {
	case kind == "":
		return fmt.Errorf("%w: %s has no kind", ErrInvalid, place)
	case text(object, "apiVersion") == "" || groupErr != nil:
		return fmt.Errorf("%w: %s, a %s, has no usable apiVersion", ErrInvalid, place, kind)
	case text(metadata, "name") == "" && text(metadata, "generateName") == "":
		return fmt.Errorf("%w: %s, a %s, has no name", ErrInvalid, place, kind)
	}
	return nil
}

// KeyOf names an object by what it says of itself; one without a name by the
// beginning of it.
func KeyOf(object map[string]any) gitops.ObjectKey {
	metadata, _ := object["metadata"].(map[string]any)
	gvk := GVK(object)
	return gitops.ObjectKey{Group: gvk.Group, Kind: gvk.Kind, Namespace: text(metadata, "namespace"), Name: cmp.Or(text(metadata, "name"), text(metadata, "generateName"))}
}

// GVK returns an object's group, version and kind.
func GVK(object map[string]any) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(text(object, "apiVersion"), text(object, "kind"))
}

// text returns a string field; empty when it is absent or something else.
func text(m map[string]any, field string) string {
	s, _ := m[field].(string)
	return s
}
