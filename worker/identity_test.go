package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/tidegate/tidegate/internal/config"
	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/kube/kubetest"
)

func TestTwoRegionsThatAreOneClusterAreRefusedWithTheirPlaces(t *testing.T) {
	servers := kubetest.Start(t, "eu-1", "us-1")
	file := filepath.Join(t.TempDir(), "tidegate.yaml")
	declare := func(third string) (config.Settings, map[string]*kube.Region) {
		text := "regions:\n" +
			"- {name: eu-1, kubeconfig: " + servers[0].Kubeconfig + "}\n" +
			"- {name: us-1, kubeconfig: " + servers[1].Kubeconfig + "}\n" + third
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		settings, err := config.Load(file)
		require.NoError(t, err)
		p := program{settings: settings, options: options{regions: []string{"eu-1", "us-1"}}}
		if third != "" {
			p.options.regions = append(p.options.regions, "west")
		}
		regions, err := p.openRegions(t.Context())
		require.NoError(t, err)
		t.Cleanup(func() {
			for _, r := range regions {
				r.Close()
			}
		})
		return settings, regions
	}

	settings, regions := declare("")
	require.NoError(t, refuseTwins(t.Context(), zap.NewNop(), regions, settings.Place))

	settings, regions = declare("- {name: west, kubeconfig: " + servers[1].Kubeconfig + "}\n")
	err := refuseTwins(t.Context(), zap.NewNop(), regions, settings.Place)
	require.ErrorContains(t, err, file+":4: regions[2] west is the cluster that "+file+":3: regions[1] us-1 is")
}
