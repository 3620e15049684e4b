package stack

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
)

// RegionSpec names a region and says what it is.
type RegionSpec struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
}

// User is somebody who may call the API servers: by a token that is made anew for every stack. Each is a user and a context,
// both of that name, in every region's kubeconfig. RBAC decides what they may do; the group system:masters may do all.
type User struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups,omitempty"`
}

// Options say what to start. Dir and Regions or Temporal are needed; the zero value of the others is right for a test.
type Options struct {
	Dir           string       `json:"dir"`                     // where everything is kept; made if absent
	Bin           string       `json:"bin"`                     // folder of the built tools; empty: [FindBin]
	KubernetesBin string       `json:"kubernetesBin,omitempty"` // folder of kube-apiserver and etcd to use instead of our own build of them
	Regions       []RegionSpec `json:"regions"`                 // see [Demo]
	Users         []User       `json:"users,omitempty"`         // besides tidegate and admin, who may do all
	Ports         Ports        `json:"ports"`                   // those left zero are any free ones
	Detached      bool         `json:"detached"`                // outlive this process
	AuditLog      bool         `json:"auditLog"`                // regions/<name>/audit.log: who asked for what
	Temporal      bool         `json:"temporal"`                // a Temporal server
	UI            bool         `json:"ui"`                      // its Web UI
	NoControllers bool         `json:"noControllers,omitempty"` // API servers only: nothing acts on what they are told
	Progress      func(string) `json:"-"`                       // told one line for every step; nil: nobody
}

// The users that every region knows.
const (
	UserTidegate    = "tidegate"    // Tidegate's workers
	UserAdmin       = "admin"       // people and tests
	userControllers = "controllers" // the controllers: kept out of the audit log
)

const groupMasters = "system:masters"

var regionName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$`)

// Demo returns n regions as a company would have them: one for development, up to two for staging, the rest for production
// in Europe and America. It is meant for n of 10, and right for any other.
func Demo(n int) []RegionSpec {
	specs := make([]RegionSpec, 0, n)
	add := func(name string, labels map[string]string) {
		if len(specs) < n {
			specs = append(specs, RegionSpec{Name: name, Labels: labels})
		}
	}
	add("dev-1", map[string]string{"stage": "dev"})
	staging := min(2, max(1, n-2)) // leave production at least one
	for i := range staging {
		add(fmt.Sprintf("staging-%d", i+1), map[string]string{"stage": "staging"})
	}
	production := n - len(specs)
	europe := (production + 1) / 2
	for i := range production {
		continent, number := "eu", i+1
		if i >= europe {
			continent, number = "us", i-europe+1
		}
		add(fmt.Sprintf("%s-%d", continent, number), map[string]string{"stage": "production", "continent": continent})
	}
	return specs
}

// complete checks the options, makes their paths absolute and fills in what was left out.
func (o Options) complete() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("start the stack: Options.Dir is empty")
	}
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return o, fmt.Errorf("start the stack: %w", err)
	}
	if o.Bin == "" {
		if o.Bin, err = FindBin(); err != nil {
			return o, err
		}
	}
	seen := map[string]bool{}
	for _, r := range o.Regions {
		if !regionName.MatchString(r.Name) {
			return o, fmt.Errorf("start region %q: a name has lower-case letters, digits and hyphens, at most 42", r.Name)
		}
		if seen[r.Name] {
			return o, fmt.Errorf("start region %s: it is named twice", r.Name)
		}
		seen[r.Name] = true
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o, nil
}
