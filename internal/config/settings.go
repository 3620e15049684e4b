// Package config is the settings of Tidegate's programs. Each reads them once,
// when it starts, and hands single values to what it builds.
package config

import (
	"fmt"
	"time"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Settings is the whole of tidegate.yaml. Load fills in what the file leaves
// out, makes every path absolute and checks the rest.
type Settings struct {
	Temporal  Temporal  `yaml:"temporal"`
	Artifacts Artifacts `yaml:"artifacts"`
	Catalog   Catalog   `yaml:"catalog"`
	Webhook   Webhook   `yaml:"webhook"`
	API       API       `yaml:"api"`
	Metrics   Metrics   `yaml:"metrics"`
	Worker    Worker    `yaml:"worker"`
	Git       Git       `yaml:"git"`
	Render    Render    `yaml:"render"`
	Regions   []Region  `yaml:"regions"`
	// File is the path of the file that they were read from.
	File string `yaml:"-"`
}

// Temporal says where the Temporal server is.
type Temporal struct {
	Address   string `yaml:"address"` // host:port
	Namespace string `yaml:"namespace"`
}

// Artifacts says where checkouts, bundles, plans and records are kept.
type Artifacts struct {
	URL string `yaml:"url"` // file:///folder, s3://bucket
	// KeyFile holds the key that encrypts them. Empty: beside a file:// store,
	// where it is made on first start.
	KeyFile string `yaml:"keyFile"`
}

// Catalog says where Applications, ApplicationSets, Pipelines and Regions are
// declared.
type Catalog struct {
	Path string `yaml:"path"` // a folder of YAML files
}

// Webhook is the listener for what Git hosts send.
type Webhook struct {
	Listen string `yaml:"listen"` // host:port
	// GithubSecret signs GitHub's deliveries; TIDEGATE_WEBHOOK_GITHUB_SECRET
	// overrides it.
	GithubSecret Secret `yaml:"githubSecret"`
}

// API is the listener for the user's verbs. It takes no tokens yet, so it
// listens on loopback only.
type API struct {
	Listen string `yaml:"listen"` // host:port, loopback
}

// Metrics is the listener that Prometheus scrapes.
type Metrics struct {
	Listen string `yaml:"listen"` // host:port
}

// Worker is what concerns tidegate-worker alone.
type Worker struct {
	Metrics string `yaml:"metrics"` // host:port that Prometheus scrapes
}

// Git says how repositories are reached and where their mirrors are.
type Git struct {
	// FileRoot is the folder below which file:// repositories are allowed; empty
	// allows none.
	FileRoot     string        `yaml:"fileRoot"`
	Mirrors      string        `yaml:"mirrors"`      // a folder
	PollInterval time.Duration `yaml:"pollInterval"` // how often every repository is asked
	// ChartPollInterval is how often repositories of charts are asked for versions
	// that are not named exactly.
	ChartPollInterval time.Duration `yaml:"chartPollInterval"`
	Credentials       []Credential  `yaml:"credentials"`
	// KnownHosts is a file with the keys of ssh servers, as ssh-keyscan writes it.
	KnownHosts string `yaml:"knownHosts"`
	// Submodules says whether checkouts have those of their repository; their
	// repositories must be among RemoteSources.
	Submodules bool `yaml:"submodules"`
	// Signatures are the repositories whose commits must be signed.
	Signatures []Signature `yaml:"signatures"`
	// RemoteSources are what the URLs begin with that manifests may refer to: remote
	// bases, charts that charts depend on, files. An entry "*" is all of them.
	RemoteSources []string `yaml:"remoteSources"`
}

// Signature says who must have signed the commits of every repository whose URL
// begins with URL: the holder of one of the keys in the files.
type Signature struct {
	URL   string   `yaml:"url"`
	Files []string `yaml:"files"` // armoured PGP key rings, or lists of allowed signers for ssh keys
}

// Credential opens every repository whose URL begins with URL.
type Credential struct {
	URL          string `yaml:"url"`
	Username     string `yaml:"username"`
	PasswordFile string `yaml:"passwordFile"` // holds a password or token, or the passphrase of the key
	SSHKeyFile   string `yaml:"sshKeyFile"`   // holds a private key; for ssh only
}

// Render says what renders manifests.
type Render struct {
	Binary  string        `yaml:"binary"` // looked up in PATH when it has no slash
	Timeout time.Duration `yaml:"timeout"`
	// Sandbox is what a render runs in: SandboxNative, SandboxGVisor, or SandboxNone,
	// which keeps it neither from the network nor from this machine's files.
	Sandbox string `yaml:"sandbox"`
	Runsc   string `yaml:"runsc"` // gVisor's program; looked up in PATH when it has no slash
	// Slots is how many sandboxes wait for a render, ready to be used.
	Slots int `yaml:"slots"`
	// Plugins are Argo CD's config management plugins.
	Plugins []Plugin `yaml:"plugins"`
}

// Plugin is what renders by commands.
type Plugin struct {
	File string `yaml:"file"` // a ConfigManagementPlugin
	// Root is a folder with what its commands need, which they find as /; this
	// machine's own programs when it is empty.
	Root string `yaml:"root"`
}

// The sandboxes.
const (
	SandboxNative = "native"
	SandboxGVisor = "gvisor"
	SandboxNone   = "none"
)

// Region is one Kubernetes API server, and how a worker reaches it: by a
// kubeconfig, or from within it.
type Region struct {
	Name       string            `yaml:"name"`
	Kubeconfig string            `yaml:"kubeconfig"`
	Context    string            `yaml:"context"` // of the kubeconfig; empty is its current one
	InCluster  bool              `yaml:"inCluster"`
	Labels     map[string]string `yaml:"labels"`
	Aliases    []string          `yaml:"aliases"`  // other names and servers for it in the catalog
	QPS        float64           `yaml:"qps"`      // requests a second
	InFlight   int               `yaml:"inFlight"` // requests at a time
	// Line is where the settings file declares it.
	Line int `yaml:"-"`
}

// defaults are the settings of a file that says nothing. Paths are relative to
// the file's folder.
func defaults() Settings {
	return Settings{
		Temporal:  Temporal{Address: "127.0.0.1:7233", Namespace: "default"},
		Artifacts: Artifacts{URL: "file://./artifacts"},
		Catalog:   Catalog{Path: "catalog"},
		Webhook:   Webhook{Listen: "127.0.0.1:8080"},
		API:       API{Listen: "127.0.0.1:8081"},
		Metrics:   Metrics{Listen: "127.0.0.1:9090"},
		Worker:    Worker{Metrics: "127.0.0.1:9091"},
		Git:       Git{Mirrors: "mirrors", PollInterval: 2 * time.Minute, ChartPollInterval: 5 * time.Minute},
		Render:    Render{Binary: "tidegate-render", Timeout: 30 * time.Second, Sandbox: SandboxNative, Runsc: "runsc", Slots: 10},
	}
}

// defaultRegion is a region that says nothing but its name.
func defaultRegion() Region { return Region{QPS: 200, InFlight: 8} }

// Fleet is the regions as the catalog knows them. Server is empty: only a
// region's kubeconfig has it.
func (s Settings) Fleet() []gitops.Region {
	fleet := make([]gitops.Region, 0, len(s.Regions))
	for _, r := range s.Regions {
		fleet = append(fleet, gitops.Region{Name: r.Name, Labels: r.Labels, Aliases: r.Aliases})
	}
	return fleet
}

// Place is where the settings declare the named region: "file:line: regions[i]".
func (s Settings) Place(region string) string {
	for i, r := range s.Regions {
		if r.Name == region {
			return fmt.Sprintf("%s:%d: regions[%d]", s.File, r.Line, i)
		}
	}
	return region
}

// Region returns the settings of the named region, and whether there are any.
func (s Settings) Region(name string) (Region, bool) {
	for _, r := range s.Regions {
		if r.Name == name {
			return r, true
		}
	}
	return Region{}, false
}
