package gitops

// Region is one Kubernetes API server that Tidegate delivers to (Argo CD's
// cluster). How it is reached is a setting of the worker that serves its
// queue and never part of this value.
type Region struct {
	Name   string            `json:"name"`
	Server string            `json:"server,omitempty"` // the address a catalog may name it by, as in destination.server
	Labels map[string]string `json:"labels,omitempty"`
	// Aliases are other names for this region in a catalog's destination.name or
	// destination.server, such as in-cluster and https://kubernetes.default.svc.
	Aliases []string `json:"aliases,omitempty"`
}
