package manifest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tidegate/tidegate/internal/gitops"
)

// ErrUnknownKind is what Placement.Namespaced returns for a kind that the region
// does not serve.
var ErrUnknownKind = errors.New("unknown kind")

// Placement says where a bundle goes.
type Placement struct {
	Target    string  // the name that tracking ids carry
	Namespace string  // for namespaced objects that name none
	Options   Options // what the target's sync options say of all objects
	// Namespaced says whether objects of a kind live in namespaces. It is not asked
	// about kinds that the bundle itself defines. It returns ErrUnknownKind, or the
	// error that kept it from knowing.
	Namespaced func(schema.GroupVersionKind) (bool, error)
}

// Object is one object as a target wants it.
type Object struct {
	// Key of a hook that asks for a generated name has the beginning of that name.
	Key        gitops.ObjectKey
	APIVersion string
	// Phase is Sync, or that in which a hook runs: a hook of several phases is an
	// object of each.
	Phase   gitops.StepPhase
	Options Options
	// Content is what is sent to the region.
	Content map[string]any
}

// maxProblems bounds how many bad objects one error names.
const maxProblems = 10

// Place makes a bundle's objects a target's: it gives them their namespace, label
// and tracking id, folds a Secret's stringData into its data, and removes what
// only a server writes. Objects marked with the hook Skip are left out. The given
// objects are changed. The error names every bad object, up to ten.
func Place(objects []map[string]any, p Placement) ([]Object, error) {
	defined := definedKinds(objects)
	placed := make([]Object, 0, len(objects))
	seen := make(map[gitops.ObjectKey]bool, len(objects))
	var problems []error
	for _, content := range objects {
		o, err := p.place(content, defined)
		if err != nil && !errors.Is(err, ErrInvalid) {
			return nil, err
		}
		switch {
		case err != nil:
			problems = append(problems, err)
			continue
		case o.Options.Skip:
			continue
		case seen[o.Key]:
			problems = append(problems, fmt.Errorf("%w: %s is in the bundle twice", ErrInvalid, o.Key))
		}
		seen[o.Key] = true
		placed = append(placed, o.inPhases()...)
	}
	if n := len(problems); n > maxProblems {
		problems = append(problems[:maxProblems], fmt.Errorf("and %d more", n-maxProblems))
	}
	return placed, errors.Join(problems...)
}

// IsHook says whether the object is run, rather than kept as it is declared.
func (o Object) IsHook() bool { return len(o.Options.Phases) > 0 }

func (o Object) inPhases() []Object {
	if o.Phase = gitops.Sync; !o.IsHook() {
		return []Object{o}
	}
	objects := make([]Object, 0, len(o.Options.Phases))
	for _, o.Phase = range o.Options.Phases {
		objects = append(objects, o)
	}
	return objects
}

func (p Placement) place(content map[string]any, defined map[schema.GroupKind]bool) (Object, error) {
	o := Object{Key: KeyOf(content), APIVersion: text(content, "apiVersion"), Content: content}
	metadata, _ := content["metadata"].(map[string]any)
	annotations, err := stringMap(metadata, "annotations")
	if err != nil {
		return o, fmt.Errorf("%s: %w", o.Key, err)
	}
	labels, err := stringMap(metadata, "labels")
	if err != nil {
		return o, fmt.Errorf("%s: %w", o.Key, err)
	}
	if o.Options, err = ReadOptions(annotations, p.Options); err != nil || o.Options.Skip {
		return o, prefixed(o.Key, err)
	}
	namespaced, err := p.namespaced(GVK(content), o, defined)
	if err != nil {
		return o, prefixed(o.Key, err)
	}
	switch {
	case !namespaced:
		o.Key.Namespace = ""
		delete(metadata, "namespace")
	case o.Key.Namespace == "" && p.Namespace == "":
		return o, fmt.Errorf("%s: %w: it names no namespace and neither does the target's destination", o.Key, ErrInvalid)
	case o.Key.Namespace == "":
		o.Key.Namespace = p.Namespace
		metadata["namespace"] = p.Namespace
	}
	if text(metadata, "name") == "" && !o.IsHook() {
		return o, fmt.Errorf("%s: %w: it has a generateName only, as hooks may: give it a name", o.Key, ErrInvalid)
	}
	labels[LabelManaged] = "true"
	annotations[AnnotationTracking] = TrackingID(p.Target, o.Key)
	metadata["labels"], metadata["annotations"] = anyMap(labels), anyMap(annotations)
	return o, prefixed(o.Key, clean(content, metadata))
}

func (p Placement) namespaced(gvk schema.GroupVersionKind, o Object, defined map[schema.GroupKind]bool) (bool, error) {
	if namespaced, ok := defined[gvk.GroupKind()]; ok {
		return namespaced, nil
	}
	namespaced, err := p.Namespaced(gvk)
	if !errors.Is(err, ErrUnknownKind) {
		return namespaced, err
	}
	if o.Options.SkipDryRunOnMissingResource {
		return o.Key.Namespace != "", nil
	}
	return false, fmt.Errorf("%w: the region serves no %s of %s and the bundle does not define it", ErrInvalid, gvk.Kind, gvk.GroupVersion())
}

// definedKinds are the kinds that the bundle's own CustomResourceDefinitions
// define, and whether they are namespaced.
func definedKinds(objects []map[string]any) map[schema.GroupKind]bool {
	kinds := map[schema.GroupKind]bool{}
	for _, o := range objects {
		if gk, namespaced, ok := DefinedKind(o); ok {
			kinds[gk] = namespaced
		}
	}
	return kinds
}

// DefinedKind returns the kind that a CustomResourceDefinition defines; ok is
// false for any other object.
func DefinedKind(object map[string]any) (gk schema.GroupKind, namespaced, ok bool) {
	if gvk := GVK(object); gvk.Group != "apiextensions.k8s.io" || gvk.Kind != "CustomResourceDefinition" {
		return gk, false, false
	}
	spec, _ := object["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	gk = schema.GroupKind{Group: text(spec, "group"), Kind: text(names, "kind")}
	return gk, text(spec, "scope") == "Namespaced", gk.Kind != ""
}

// serverFields are written by servers; in an apply they are refused, or turn it
// into a conditional one.
var serverFields = []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"}

func clean(content, metadata map[string]any) error {
	for _, field := range serverFields {
		delete(metadata, field)
	}
	if isSecret(content) {
		if err := foldStringData(content); err != nil {
			return err
		}
	}
	for _, field := range []string{"data", "binaryData"} { // an empty one would own nothing and still differ
		if m, ok := content[field].(map[string]any); ok && len(m) == 0 {
			delete(content, field)
		}
	}
	return nil
}

// foldStringData does what the server does on a write, so that drift in what it
// made of stringData is seen.
func foldStringData(secret map[string]any) error {
	stringData, ok := secret["stringData"].(map[string]any)
	if !ok {
		return nil
	}
	data, _ := secret["data"].(map[string]any)
	if data == nil {
		data = make(map[string]any, len(stringData))
	}
	for k, v := range stringData {
		s, ok := v.(string)
		if !ok {
			return fmt.Errorf("%w: stringData.%s is not a string", ErrInvalid, k)
		}
		data[k] = base64.StdEncoding.EncodeToString([]byte(s))
	}
	secret["data"] = data
	delete(secret, "stringData")
	return nil
}

func isSecret(content map[string]any) bool {
	gvk := GVK(content)
	return gvk.Group == "" && gvk.Kind == "Secret"
}

func stringMap(metadata map[string]any, field string) (map[string]string, error) {
	m, _ := metadata[field].(map[string]any)
	out := make(map[string]string, len(m)+1)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		s, ok := m[k].(string)
		if !ok {
			return nil, fmt.Errorf("%w: metadata.%s.%s is not a string; put it in quotes", ErrInvalid, field, k)
		}
		out[k] = s
	}
	return out, nil
}

func anyMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

func prefixed(key gitops.ObjectKey, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", key, err)
}
