package gitops

// Delivery is the set of targets that are promoted together: one Application,
// or all that a Pipeline groups.
type Delivery struct {
	Project string   `json:"project"`
	Name    string   `json:"name"`
	Stages  []Stage  `json:"stages"` // in order of promotion
	Targets []Target `json:"targets"`
	// Health are the catalog's own rules about kinds.
	Health []HealthRule `json:"health,omitempty"`
	// Digest identifies this very specification; it changes whenever anything in
	// the catalog that concerns this Delivery does.
	Digest string `json:"digest,omitempty"`
}

// Key is the Delivery's name among all: project/name.
func (d Delivery) Key() string { return d.Project + "/" + d.Name }

// Target returns the named target, and whether the Delivery has it.
func (d Delivery) Target(name string) (Target, bool) {
	for _, t := range d.Targets {
		if t.Name == name {
			return t, true
		}
	}
	return Target{}, false
}

// Refs returns the distinct refs that the Delivery's sources follow, in order
// of first use.
func (d Delivery) Refs() []Ref {
	var refs []Ref
	seen := map[Ref]bool{}
	for _, t := range d.Targets {
		for _, s := range t.Sources() {
			if r := s.Ref(); !seen[r] {
				seen[r] = true
				refs = append(refs, r)
			}
		}
	}
	return refs
}

// Stage is a set of targets, and what must hold before a release enters it.
type Stage struct {
	Name    string   `json:"name"`
	Targets []string `json:"targets"` // names, sorted
	Gates   []Gate   `json:"gates,omitempty"`
	// Strategy says how a release goes through the targets; nil for all at once.
	Strategy *Strategy `json:"strategy,omitempty"`
}

// DeletionStage is where targets go that are deleted. No declared stage has its name.
const DeletionStage = "deletion"

// Catalog is everything that was declared, after generators ran.
type Catalog struct {
	Digest     string     `json:"digest"`
	Deliveries []Delivery `json:"deliveries"`
	Regions    []Region   `json:"regions"`
	// Problems are documents that were refused. While there is one, nothing is
	// retired.
	Problems []Problem `json:"problems,omitempty"`
}

// Problem is a refused document, with the place and the way out.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Object  string `json:"object,omitempty"` // Kind/name
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}
