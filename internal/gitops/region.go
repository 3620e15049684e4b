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

// RegionClass is what a chart may ask about the region that it is rendered for.
// Regions of one class get the same render.
type RegionClass struct {
	KubeVersion string `json:"kubeVersion"` // such as v1.37.2
	// APIVersions are what the region serves, as group/version and
	// group/version/Kind, sorted.
	APIVersions []string `json:"apiVersions"`
}
