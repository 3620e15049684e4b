package kube_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/kube/kubetest"
)

// behind is an address that leads to one server after another.
type behind struct {
	net.Listener
	server atomic.Pointer[string]
}

func newBehind(t *testing.T) *behind {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := &behind{Listener: l}
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(func() {
		stop()
		_ = l.Close()
	})
	go b.serve(ctx)
	return b
}

func (b *behind) serve(ctx context.Context) {
	for {
		client, err := b.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = client.Close() }()
			server, err := (&net.Dialer{}).DialContext(ctx, "tcp", *b.server.Load())
			if err != nil {
				return
			}
			defer context.AfterFunc(ctx, func() { _ = server.Close() })()
			go func() { _, _ = io.Copy(server, client) }()
			_, _ = io.Copy(client, server)
		}()
	}
}

// kubeconfigOf is a server's kubeconfig with the address in its place.
func (b *behind) kubeconfigOf(t *testing.T, server *kubetest.Region) string {
	t.Helper()
	text, err := os.ReadFile(server.Kubeconfig)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), hostOf(t, server), b.Addr().String())), 0o600))
	return path
}

func hostOf(t *testing.T, server *kubetest.Region) string {
	t.Helper()
	u, err := url.Parse(server.Config.Host)
	require.NoError(t, err)
	return u.Host
}

// The address of a region leads to another cluster, which is empty, while a worker
// remembers the one before.
func TestARegionThatIsReplacedByAnEmptyClusterIsDeliveredAnew(t *testing.T) {
	servers := kubetest.Start(t, "before", "after")
	b := newBehind(t)
	b.server.Store(new(hostOf(t, servers[0])))
	region, err := kube.Open(t.Context(), kube.Settings{Name: "moving", Kubeconfig: b.kubeconfigOf(t, servers[0]), Version: "test", Patience: 3 * time.Second})
	require.NoError(t, err)
	t.Cleanup(region.Close)
	s := newScene(t, servers[0], region, "replaced")
	s.target.SyncPolicy.Options = []string{"CreateNamespace=true"}
	s.sync(t, settings, web)
	before, err := region.Probe(t.Context())
	require.NoError(t, err)

	b.server.Store(new(hostOf(t, servers[1])))
	require.NoError(t, servers[0].Kill())
	require.Eventually(t, func() bool {
		now, err := region.Probe(t.Context())
		return err == nil && now != before
	}, soon, 20*time.Millisecond)
	s.server = servers[1]
	plan := s.plan(t, settings, web)
	require.ElementsMatch(t, []string{"create ConfigMap $/settings", "create apps/Deployment $/web", "create Namespace replaced"}, s.actions(plan))
	outcome := s.deliver(t, plan)
	require.Equal(t, gitops.Healthy, outcome.Health, "%v", outcome.Issues)
	_, err = servers[1].Admin.AppsV1().Deployments("replaced").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
}
