package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
)

const (
	burstReplicas        = 500              // pods that a ReplicaSet creates at once, as upstream
	endpointsPerSlice    = 100              // as upstream
	namespaceResync      = 5 * time.Minute  // as upstream
	discoveryPeriod      = 10 * time.Second // until the garbage collector knows a new kind
	garbageSyncTimeout   = 30 * time.Second // as upstream
	daemonBackoff        = time.Second
	daemonLongestBackoff = 15 * time.Minute
)

// runner is what every upstream controller offers: Run blocks until the context ends.
type runner interface {
	Run(ctx context.Context, workers int)
}

// startControllers starts everything that makes a region behave like a cluster, upstream's controllers and stand-ins for
// scheduler, kubelet and cloud, and returns when their caches are full. They end with the context.
func startControllers(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(client, 0)
	runners, err := workloadControllers(ctx, client, shared)
	if err != nil {
		return err
	}
	collect, err := startHousekeeping(ctx, config, client, shared)
	if err != nil {
		return err
	}
	if err := startNode(ctx, client, shared); err != nil {
		return err
	}
	startCloud(ctx, client, shared)
	shared.Start(ctx.Done())
	collect()
	shared.WaitForCacheSync(ctx.Done())
	for _, c := range runners {
		go c.Run(ctx, 5)
	}
	return ctx.Err()
}

// workloadControllers makes upstream's controllers of workloads and Services, without running them.
func workloadControllers(ctx context.Context, client kubernetes.Interface, shared informers.SharedInformerFactory) ([]runner, error) {
	apps, batch, core := shared.Apps().V1(), shared.Batch().V1(), shared.Core().V1()
	deployments, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), core.Pods(), client)
	if err != nil {
		return nil, fmt.Errorf("make the Deployment controller: %w", err)
	}
	daemons, err := daemon.NewDaemonSetsController(ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(), client,
		flowcontrol.NewBackOff(daemonBackoff, daemonLongestBackoff))
	if err != nil {
		return nil, fmt.Errorf("make the DaemonSet controller: %w", err)
	}
	jobs, err := job.NewController(ctx, client, core.Pods(), batch.Jobs(), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("make the Job controller: %w", err)
	}
	cronJobs, err := cronjob.NewControllerV2(ctx, batch.Jobs(), batch.CronJobs(), client)
	if err != nil {
		return nil, fmt.Errorf("make the CronJob controller: %w", err)
	}
	return []runner{
		deployments,
		replicaset.NewReplicaSetController(ctx, apps.ReplicaSets(), core.Pods(), client, burstReplicas),
		statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(), apps.ControllerRevisions(), client),
		daemons,
		jobs,
		ttlafterfinished.New(ctx, batch.Jobs(), client),
		cronJobs,
		endpointslice.NewController(ctx, core.Pods(), core.Services(), core.Nodes(), shared.Discovery().V1().EndpointSlices(),
			endpointsPerSlice, client, 0),
	}, nil
}

// startHousekeeping starts the garbage collector and the Namespace controller. The function it returns starts the watches
// they need, once all the others of shared have been started.
func startHousekeeping(ctx context.Context, config *rest.Config, client kubernetes.Interface, shared informers.SharedInformerFactory) (func(), error) {
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	metaInformers := metadatainformer.NewSharedInformerFactory(meta, 0)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	started := make(chan struct{})
	collector, err := garbagecollector.NewGarbageCollector(ctx, client, meta, mapper, garbagecollector.DefaultIgnoredResources(),
		informerfactory.NewInformerFactory(shared, metaInformers), started)
	if err != nil {
		return nil, fmt.Errorf("make the garbage collector: %w", err)
	}
	namespaces := namespace.NewNamespaceController(ctx, client, meta, client.Discovery().ServerPreferredNamespacedResources,
		shared.Core().V1().Namespaces(), namespaceResync, corev1.FinalizerKubernetes)
	return func() {
		metaInformers.Start(ctx.Done())
		close(started)
		go collector.Run(ctx, 5, garbageSyncTimeout)
		go collector.Sync(ctx, client.Discovery(), discoveryPeriod)
		go namespaces.Run(ctx, 2)
	}, nil
}
