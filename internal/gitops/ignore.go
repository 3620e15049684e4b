package gitops

// IgnoreRule is Argo CD's spec.ignoreDifferences: fields that are left to others.
// They are set when an object is created, and neither compared nor written after.
type IgnoreRule struct {
	Group string `json:"group,omitempty"` // * for every one
	Kind  string `json:"kind,omitempty"`  // * for every one
	// Name and Namespace are of one object; empty for all.
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// JSONPointers are by RFC 6901.
	JSONPointers []string `json:"jsonPointers,omitempty"`
	// JQPathExpressions are of the jq language.
	JQPathExpressions []string `json:"jqPathExpressions,omitempty"`
	// ManagedFieldsManagers are field managers whose fields are left to them.
	ManagedFieldsManagers []string `json:"managedFieldsManagers,omitempty"`
}

// Matches says whether the rule is about an object.
func (r IgnoreRule) Matches(key ObjectKey) bool {
	return (r.Group == "*" || r.Group == key.Group) && (r.Kind == "*" || r.Kind == key.Kind) &&
		(r.Name == "" || r.Name == key.Name) && (r.Namespace == "" || r.Namespace == key.Namespace)
}
