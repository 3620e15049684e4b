package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	wire "github.com/tidegate/tidegate/starter/api"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A real project of a dozen services, as it is, in ten regions: its plain
// manifests, and its Kustomize tree.
func TestARealProjectInTenRegions(t *testing.T) {
	for _, c := range []struct {
		name, path string
		plain      bool
	}{
		{name: "plain manifests", path: "kubernetes-manifests", plain: true},
		{name: "Kustomize", path: "kustomize"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := os.Getenv("TIDEGATE_CORPUS")
			if root == "" {
				t.Skip("set TIDEGATE_CORPUS to the folder that holds microservices-demo")
			}
			w := newWorld(t, options{catalog: func(w *world) string {
				return w.applicationSet(w.name, w.repo.URL, "main", c.path) + w.pipeline(w.name)
			}})
			w.repo.CopyTree(os.DirFS(filepath.Join(root, "microservices-demo")), "")
			if c.plain {
				w.repo.Remove(c.path + "/kustomization.yaml")
			}
			commit := w.push(nil)
			w.untilDelivered(commit)
			for _, region := range w.targets() {
				list, err := w.kube(region).AppsV1().Deployments(w.name).List(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				require.GreaterOrEqual(t, len(list.Items), 11, "region %s", region)
				for _, d := range list.Items {
					require.Equal(t, *d.Spec.Replicas, d.Status.AvailableReplicas, "region %s: %s", region, d.Name)
				}
			}
			before := w.now()
			_, err := w.api.Sync(t.Context(), w.delivery(), wire.Sync{By: "somebody"})
			require.NoError(t, err)
			w.untilDelivered(commit)
			w.requireNoWrites(before)
		})
	}
}
