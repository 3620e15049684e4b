package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAChartInTenRegions delivers the charts of public projects through a gate,
// with values that the clusters generator makes for each region.
func TestAChartInTenRegions(t *testing.T) {
	for _, c := range []struct {
		project, path, helm string
		deployment, env     string // which shows the region's value
	}{
		{
			project: "microservices-demo", path: "helm-chart", deployment: "frontend", env: "ENV_PLATFORM",
			helm: "{valueFiles: [values.yaml], parameters: [{name: frontend.platform, value: '{{name}}'}]}",
		},
		{
			project: "podinfo", path: "charts/podinfo", deployment: "podinfo", env: "PODINFO_UI_MESSAGE",
			helm: "{releaseName: podinfo, valuesObject: {ui: {message: '{{name}}'}}}",
		},
	} {
		t.Run(c.project, func(t *testing.T) {
			root := os.Getenv("TIDEGATE_CORPUS")
			if root == "" {
				t.Skip("set TIDEGATE_CORPUS to the folder that holds " + c.project)
			}
			names := theFleet(t).regionNames()
			stages := []stage{{name: "staging", regions: names[:3]}, {name: "production", regions: names[3:], approval: true}}
			w := newWorld(t, options{stages: stages, catalog: func(w *world) string {
				source := fmt.Sprintf("{repoURL: %q, targetRevision: main, path: %s, helm: %s}", w.repo.URL, c.path, c.helm)
				return w.applicationSetOf(w.name, source) + w.pipeline(w.name)
			}})
			w.repo.CopyTree(os.DirFS(filepath.Join(root, c.project)), "")
			commit := w.push(nil)
			w.untilCandidate(commit)
			out, err := w.tidegate("approve", w.delivery(), "--yes", "--by", "somebody")
			require.NoError(t, err, out)
			w.untilDelivered(commit)
			for _, region := range names {
				d := w.deployment(region, c.deployment)
				require.Equal(t, *d.Spec.Replicas, d.Status.AvailableReplicas, "region %s", region)
				values := map[string]string{}
				for _, e := range d.Spec.Template.Spec.Containers[0].Env {
					values[e.Name] = e.Value
				}
				require.Equal(t, region, values[c.env], "region %s", region)
			}
		})
	}
}
