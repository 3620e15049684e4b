package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/tidegate/tidegate/deploy/local/stack"
)

// floorNamespace is where the bare loop applies; Tidegate has another.
const floorNamespace = "floor"

// floor is the bare loop: the least that delivering these objects can cost.
type floor struct {
	clients []dynamic.Interface // one a region
}

// floorTime is how long it took.
type floorTime struct {
	apply, total time.Duration
}

func newFloor(ctx context.Context, s *stack.Stack) (*floor, error) {
	f := &floor{}
	for _, r := range s.Regions {
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
			&clientcmd.ClientConfigLoadingRules{ExplicitPath: r.Kubeconfig}, &clientcmd.ConfigOverrides{CurrentContext: stack.UserAdmin}).ClientConfig()
		if err != nil {
			return nil, err
		}
		config.QPS = -1
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		f.clients = append(f.clients, client)
		namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": floorNamespace}}}
		if _, err := client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("create namespace %s in %s: %w", floorNamespace, r.Name, err)
		}
	}
	return f, nil
}

// deliver applies files to every region at once, eight requests in flight in
// each, and returns when every Deployment among them is Available.
func (f *floor) deliver(ctx context.Context, files map[string]string) (floorTime, error) {
	objects, err := decode(files)
	if err != nil {
		return floorTime{}, err
	}
	started := time.Now()
	applied := make([]time.Duration, len(f.clients))
	var regions errgroup.Group
	for i, client := range f.clients {
		regions.Go(func() error {
			generations, err := applyAll(ctx, client, objects)
			if err != nil {
				return err
			}
			applied[i] = time.Since(started)
			return awaitAvailable(ctx, client, generations)
		})
	}
	err = regions.Wait()
	return floorTime{apply: slices.Max(applied), total: time.Since(started)}, err
}

func decode(files map[string]string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasPrefix(name, "app/") {
			continue
		}
		var u unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(files[name]), &u.Object); err != nil {
			return nil, fmt.Errorf("decode %s: %w", name, err)
		}
		objects = append(objects, &u)
	}
	return objects, nil
}

func resourceOf(u *unstructured.Unstructured) schema.GroupVersionResource {
	if u.GetKind() == "Deployment" {
		return appsv1.SchemeGroupVersion.WithResource("deployments")
	}
	return corev1.SchemeGroupVersion.WithResource("configmaps")
}

// applyAll returns the generation of every Deployment that it applied.
func applyAll(ctx context.Context, client dynamic.Interface, objects []*unstructured.Unstructured) (map[string]int64, error) {
	generations := make([]int64, len(objects))
	var group errgroup.Group
	group.SetLimit(8)
	for i, u := range objects {
		group.Go(func() error {
			result, err := client.Resource(resourceOf(u)).Namespace(floorNamespace).Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: "floor", Force: true})
			if err == nil {
				generations[i] = result.GetGeneration()
			}
			return err
		})
	}
	err := group.Wait()
	deployments := map[string]int64{}
	for i, u := range objects {
		if u.GetKind() == "Deployment" {
			deployments[u.GetName()] = generations[i]
		}
	}
	return deployments, err
}

// awaitAvailable lists once, then watches.
func awaitAvailable(ctx context.Context, client dynamic.Interface, generations map[string]int64) error {
	resource := client.Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).Namespace(floorNamespace)
	list, err := resource.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		settle(&list.Items[i], generations)
	}
	if len(generations) == 0 {
		return nil
	}
	watch, err := resource.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return err
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		if u, ok := event.Object.(*unstructured.Unstructured); ok {
			settle(u, generations)
		}
		if len(generations) == 0 {
			return nil
		}
	}
	return fmt.Errorf("wait for %d Deployments: the watch ended (%w)", len(generations), context.Cause(ctx))
}

// settle forgets a Deployment that is Available at the generation applied.
func settle(u *unstructured.Unstructured, generations map[string]int64) {
	wanted, waited := generations[u.GetName()]
	if !waited {
		return
	}
	var d appsv1.Deployment
	if text, err := json.Marshal(u.Object); err != nil || json.Unmarshal(text, &d) != nil {
		return
	}
	s := d.Status
	if s.ObservedGeneration >= wanted && s.UpdatedReplicas == *d.Spec.Replicas && s.AvailableReplicas == *d.Spec.Replicas && s.Replicas == *d.Spec.Replicas {
		delete(generations, u.GetName())
	}
}
