package manifest

import (
	"fmt"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
)

const (
	// LabelManaged is on every object that Tidegate has written; lists and watches
	// select by it.
	LabelManaged = "tidegate.dev/managed"
	// AnnotationTracking says which target an object belongs to, and which object
	// it is: a copy of the annotation on another object means nothing.
	AnnotationTracking = "tidegate.dev/tracking-id"
	// AnnotationAdopt allows, on an Application or on an object in Git, to take over
	// what exists and is not managed by Tidegate; on an object it can also name the
	// target that gives it away.
	AnnotationAdopt = "tidegate.dev/adopt"
)

// TrackingID is the value of AnnotationTracking:
// <target>:<group>/<kind>:<namespace>/<name>.
func TrackingID(target string, key gitops.ObjectKey) string {
	return fmt.Sprintf("%s:%s/%s:%s/%s", target, key.Group, key.Kind, key.Namespace, key.Name)
}

// annotationArgoTracking is Argo CD's, in the same form as ours.
const annotationArgoTracking = "argocd.argoproj.io/tracking-id"

// TrackedByArgo returns the Application of Argo CD that an object belongs to; empty
// when it belongs to none. One outside of Argo CD's namespace has that of its own in
// front: namespace_name.
func TrackedByArgo(annotations map[string]string, key gitops.ObjectKey) string {
	return TrackedBy(annotations[annotationArgoTracking], key)
}

// TrackedBy returns the target that an object with this key and annotation
// belongs to; empty when it belongs to none.
func TrackedBy(annotation string, key gitops.ObjectKey) string {
	target, ok := strings.CutSuffix(annotation, TrackingID("", key))
	if !ok {
		return ""
	}
	return target
}
