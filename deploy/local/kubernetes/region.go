package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/connrotation"
	"k8s.io/klog/v2"
)

// contextName is the context that the controllers use in every kubeconfig, so that audit logs can tell them from people.
const contextName = "controllers"

const (
	probeEvery   = 500 * time.Millisecond
	probeTimeout = 5 * time.Second // longer than a busy machine needs, shorter than a person waits
)

// region is one API server as the controllers see it.
type region struct {
	name   string
	config *rest.Config
	prober kubernetes.Interface
}

func newRegion(name, kubeconfig string) (*region, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: contextName}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of region %s: %w", name, err)
	}
	config.QPS = -1 // the API server's own Priority and Fairness is limit enough
	config.ContentType = "application/vnd.kubernetes.protobuf"
	probing := rest.CopyConfig(config)
	probing.Timeout = probeTimeout
	prober, err := kubernetes.NewForConfig(probing)
	if err != nil {
		return nil, fmt.Errorf("connect to region %s: %w", name, err)
	}
	return &region{name: name, config: config, prober: prober}, nil
}

// run starts the controllers whenever the API server becomes ready and ends them as soon as it is not, so that they come
// back at once and with fresh caches: left alone, their watches would back off for up to half a minute, and would keep the
// objects of a cluster that was replaced under the same address.
func (r *region) run(ctx context.Context) {
	for ctx.Err() == nil {
		r.waitReady(ctx)
		if err := r.live(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Region lost", "region", r.name)
		}
	}
}

// waitReady returns when the API server is ready, or when the context ends.
func (r *region) waitReady(ctx context.Context) {
	_ = wait.PollUntilContextCancel(ctx, probeEvery, true, func(ctx context.Context) (bool, error) {
		return r.probe(ctx, "/readyz") == nil, nil
	})
}

// live runs the controllers up to the first probe that fails, and returns its error.
func (r *region) live(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	connections := connrotation.NewDialer((&net.Dialer{Timeout: probeTimeout}).DialContext)
	defer connections.CloseAll() // ends what a frozen API server would hold up
	config := rest.CopyConfig(r.config)
	config.Dial = connections.DialContext
	if err := startControllers(ctx, config); err != nil {
		return fmt.Errorf("start the controllers: %w", err)
	}
	klog.InfoS("Region ready", "region", r.name)
	return wait.PollUntilContextCancel(ctx, probeEvery, false, func(ctx context.Context) (bool, error) {
		return false, r.probe(ctx, "/livez/ping")
	})
}

func (r *region) probe(ctx context.Context, path string) error {
	return r.prober.CoreV1().RESTClient().Get().AbsPath(path).Do(ctx).Error()
}
