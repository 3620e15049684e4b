package gitops

// HealthRule says how objects of one kind are, in CEL expressions of the object.
// The first that is true counts, in the order of the fields; where none is, the
// object is Progressing. What an expression reads and is not there makes it false.
type HealthRule struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Degraded  string `json:"degraded,omitempty"`
	Suspended string `json:"suspended,omitempty"`
	Healthy   string `json:"healthy,omitempty"`
	// Progressing tells work that is under way from what nobody works on yet; both
	// are waited for.
	Progressing string `json:"progressing,omitempty"`
	// Message is a CEL expression of a string, for people.
	Message string `json:"message,omitempty"`
}
