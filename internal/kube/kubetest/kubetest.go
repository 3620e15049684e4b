// Package kubetest gives tests real Kubernetes API servers, with the controllers
// that make workloads come alive, and tells what was asked of them.
package kubetest

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/tidegate/tidegate/deploy/local/stack"
	"github.com/tidegate/tidegate/deploy/local/stack/stacktest"
)

// FailAnnotation on a pod template keeps its pods from becoming ready.
const FailAnnotation = "local.tidegate.dev/fail"

// Region is a running API server, and clients of an administrator.
type Region struct {
	*stack.Region
	Admin   kubernetes.Interface
	Dynamic dynamic.Interface
	Config  *rest.Config
}

// Start starts one region for each name; they end with the test, which is skipped
// where the servers have not been built.
func Start(t testing.TB, names ...string) []*Region {
	t.Helper()
	o := stack.Options{AuditLog: true}
	for _, name := range names {
		o.Regions = append(o.Regions, stack.RegionSpec{Name: name})
	}
	s := stacktest.Start(t, o)
	regions := make([]*Region, 0, len(names))
	for _, region := range s.Regions {
		regions = append(regions, connect(t, region))
	}
	return regions
}

func connect(t testing.TB, region *stack.Region) *Region {
	t.Helper()
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: region.Kubeconfig}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: stack.UserAdmin}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	require.NoError(t, err)
	config.QPS, config.UserAgent = -1, "kubetest"
	r := &Region{Region: region, Config: config}
	r.Admin, err = kubernetes.NewForConfig(config)
	require.NoError(t, err)
	r.Dynamic, err = dynamic.NewForConfig(config)
	require.NoError(t, err)
	return r
}

// Request is one that a region has answered.
type Request struct {
	Verb  string `json:"verb"`
	Agent string `json:"userAgent"`
	Ref   struct {
		Resource, Subresource, Namespace, Name string
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Stage string `json:"stage"`
}

// Writes says whether the request was one that changes something.
func (r Request) Writes() bool {
	switch r.Verb {
	case "get", "list", "watch":
		return false
	default:
		return true
	}
}

// Requests returns what the region was asked so far, by its audit log, that
// matches.
func (r *Region) Requests(t testing.TB, match func(Request) bool) []Request {
	t.Helper()
	file, err := os.Open(r.AuditLog)
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // only read
	var requests []Request
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var request Request
		require.NoError(t, json.Unmarshal(lines.Bytes(), &request))
		if request.Stage == "ResponseComplete" && match(request) {
			requests = append(requests, request)
		}
	}
	require.NoError(t, lines.Err())
	return requests
}
