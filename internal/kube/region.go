// Package kube is the only one that talks to a Kubernetes API. A Region plans
// what a target needs, applies it step by step, and waits until it is healthy.
//
// What keeps it safe: every write happens under a claim that is held in the
// target's inventory, deletions carry the UID of what was planned, an object that
// is not ours is never touched, and an answer that did not come is never taken
// for an empty one.
//
// What keeps it fast: metadata lists instead of a request per object, whole
// objects only where something has moved, one shared watch per kind instead of
// polling.
package kube

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/lru"

	"github.com/tidegate/tidegate/internal/diff"
)

// FieldManager is the server-side-apply manager of everything that Tidegate
// writes.
const FieldManager = "tidegate"

// Settings say how a region is reached and how hard it may be worked.
type Settings struct {
	Name string
	// Kubeconfig is a file; empty means the account of the pod that this runs in.
	Kubeconfig string
	Context    string // in Kubeconfig; empty means its current one
	Version    string // of Tidegate, for the user agent
	// QPS and Burst bound all requests to the region together; 400 and 800 when zero.
	QPS   float32
	Burst int
	// InFlight is how many writes run at the same time; 8 when zero.
	InFlight int
	// Patience is how long an error that may pass (throttling, a conflict, a server
	// error) is retried within one call; a minute when zero.
	Patience time.Duration
	// Unreachable is how long connections must have failed until the region counts
	// as unreachable; 5 s when zero.
	Unreachable time.Duration
	// MaxPart is the size in bytes above which an inventory is split; 700,000 when
	// zero, safely below what etcd takes.
	MaxPart int
}

func (s Settings) withDefaults() Settings {
	s.QPS = cmp.Or(s.QPS, 400)
	s.Burst = cmp.Or(s.Burst, 800)
	s.InFlight = cmp.Or(s.InFlight, 8)
	s.Patience = cmp.Or(s.Patience, time.Minute)
	s.Unreachable = cmp.Or(s.Unreachable, 5*time.Second)
	s.MaxPart = cmp.Or(s.MaxPart, 700_000)
	s.Version = cmp.Or(s.Version, "unknown")
	return s
}

// Region is one Kubernetes API server. It is safe for concurrent use, and meant
// to be opened once and kept.
type Region struct {
	settings  Settings
	rest      rest.Interface
	metadata  metadata.Interface
	kinds     *kinds
	pulse     *pulse
	tracker   *tracker
	inFlight  chan struct{}
	digesters sync.Pool
	seen      seen
	tried     tried
	known     *lru.Cache // inventories as they were seen last, by target
	encoder   *zstd.Encoder
	decoder   *zstd.Decoder
}

// Open prepares a region's clients. It makes no request: a region that is down
// can be opened. The context bounds the life of the region's watches.
func Open(ctx context.Context, s Settings) (*Region, error) {
	s = s.withDefaults()
	config, err := restConfig(s)
	if err != nil {
		return nil, fmt.Errorf("open region %s: %w", s.Name, err)
	}
	r := &Region{settings: s, pulse: &pulse{}, inFlight: make(chan struct{}, s.InFlight), known: lru.New(maxKnown), tried: tried{lru.New(maxTried)}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &transport{next: next, pulse: r.pulse} })
	if err := r.connect(ctx, config); err != nil {
		return nil, fmt.Errorf("open region %s: %w", s.Name, err)
	}
	return r, nil
}

func restConfig(s Settings) (*rest.Config, error) {
	config, err := rest.InClusterConfig()
	if s.Kubeconfig != "" {
		rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: s.Kubeconfig}
		config, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: s.Context}).ClientConfig()
	}
	if err != nil {
		return nil, err
	}
	config.UserAgent = "tidegate/" + s.Version
	config.QPS, config.Burst = s.QPS, s.Burst
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(s.QPS, s.Burst) // one for all clients
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

func (r *Region) connect(ctx context.Context, config *rest.Config) (err error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	if r.rest, err = rest.UnversionedRESTClientForConfigAndClient(plainJSON(config), client); err != nil {
		return err
	}
	if r.metadata, err = metadata.NewForConfigAndClient(metadata.ConfigFor(config), client); err != nil {
		return err
	}
	watches, err := dynamic.NewForConfigAndClient(dynamic.ConfigFor(config), client)
	if err != nil {
		return err
	}
	groups, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return err
	}
	if r.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); err != nil {
		return err
	}
	if r.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxInventory)); err != nil {
		return err
	}
	r.digesters.New = func() any { return diff.NewDigester(FieldManager) }
	r.kinds = &kinds{discovery: discovery.ToDiscoveryInterfaceWithContext(groups)}
	r.tracker = newTracker(ctx, r, watches)
	return nil
}

// Name is the region's name in the catalog.
func (r *Region) Name() string { return r.settings.Name }

// Close ends the region's watches. Calls that wait for them fail.
func (r *Region) Close() { r.tracker.close() }

// Probe asks the region once who it is: the UID of its kube-system namespace,
// which stays the same whatever address it has.
func (r *Region) Probe(ctx context.Context) (uid string, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	ns, err := r.metadata.Resource(namespaces).Get(ctx, "kube-system", getOptions)
	if err != nil {
		return "", fmt.Errorf("ask region %s: %w", r.settings.Name, r.typed(err))
	}
	return string(ns.UID), nil
}

// maxKnown bounds how many inventories are kept in memory between a plan and its
// steps.
const maxKnown = 64

const probeTimeout = 5 * time.Second
