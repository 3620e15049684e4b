package kube_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func classKnown(t *testing.T, s *scene) {
	class, err := s.region.Class(t.Context())
	require.NoError(t, err)
	require.Regexp(t, `^v1\.\d+\.\d+`, class.KubeVersion)
	require.Subset(t, class.APIVersions, []string{"v1", "v1/ConfigMap", "apps/v1", "apps/v1/Deployment"})
	require.IsIncreasing(t, class.APIVersions)
}
