package e2e_test

import (
	"context"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// kube returns a client of a region, for a person who may do everything.
func (w *world) kube(region string) kubernetes.Interface {
	w.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", w.region(w.t, region).Kubeconfig)
	require.NoError(w.t, err)
	config.QPS, config.Timeout = -1, 10*time.Second
	client, err := kubernetes.NewForConfig(config)
	require.NoError(w.t, err)
	return client
}

// deployment reads a Deployment of the world's namespace in a region.
func (w *world) deployment(region, name string) *appsv1.Deployment {
	w.t.Helper()
	var found *appsv1.Deployment
	w.until("region "+region+" answers", func(ctx context.Context) (bool, any) {
		d, err := w.kube(region).AppsV1().Deployments(w.name).Get(ctx, name, metav1.GetOptions{})
		found = d
		return err == nil, err
	})
	return found
}

// image is that of a Deployment's only container.
func (w *world) image(region, name string) string {
	w.t.Helper()
	return w.deployment(region, name).Spec.Template.Spec.Containers[0].Image
}

// targets are the regions of the world's stages named, of all when none is.
func (w *world) targets(stages ...string) []string {
	var names []string
	for _, st := range w.options.stages {
		if len(stages) == 0 || slices.Contains(stages, st.name) {
			names = append(names, st.regions...)
		}
	}
	return names
}
