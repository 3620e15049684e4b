package gitops

import "strings"

// ObjectKey names one Kubernetes object within a region. Version is not part
// of its identity.
type ObjectKey struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is the form for people: apps/Deployment shop/frontend.
func (k ObjectKey) String() string {
	var b strings.Builder
	if k.Group != "" {
		b.WriteString(k.Group + "/")
	}
	b.WriteString(k.Kind + " ")
	if k.Namespace != "" {
		b.WriteString(k.Namespace + "/")
	}
	b.WriteString(k.Name)
	return b.String()
}

// Compare orders keys by group, kind, namespace and name.
func (k ObjectKey) Compare(o ObjectKey) int {
	for _, c := range [...]int{
		strings.Compare(k.Group, o.Group), strings.Compare(k.Kind, o.Kind),
		strings.Compare(k.Namespace, o.Namespace), strings.Compare(k.Name, o.Name),
	} {
		if c != 0 {
			return c
		}
	}
	return 0
}

// ObjectIssue is what is wrong with one object, in words for people.
type ObjectIssue struct {
	Object  string       `json:"object"`
	Health  HealthStatus `json:"health,omitempty"`
	Message string       `json:"message"`
}
