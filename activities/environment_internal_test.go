package activities

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/gitops"
)

func TestTheBuildEnvironmentIsPutWhereArgoCDPutsIt(t *testing.T) {
	source := gitops.Source{
		RepoURL: "https://example.com/shop", Revision: "main", Path: "app",
		Helm: &gitops.Helm{
			ReleaseName: "$ARGOCD_APP_NAME", Values: "a: $ARGOCD_APP_NAME",
			ValueFiles:     []string{"$ARGOCD_APP_NAME/values.yaml", "$values/${TIDEGATE_REGION}.yaml", "plain.yaml"},
			Parameters:     []gitops.HelmParameter{{Name: "a", Value: "${ARGOCD_APP_NAME}-$TIDEGATE_REGION-$UNKNOWN-$$x"}},
			FileParameters: []gitops.HelmFileParameter{{Name: "f", Path: "files/$ARGOCD_APP_REVISION_SHORT_8"}},
		},
		Directory: &gitops.Directory{Jsonnet: &gitops.Jsonnet{ExtVars: []gitops.JsonnetVar{{Name: "v", Value: "$ARGOCD_APP_SOURCE_PATH"}}, TLAs: []gitops.JsonnetVar{{Name: "t", Value: "$ARGOCD_APP_PROJECT_NAME"}}}},
		Kustomize: &gitops.Kustomize{
			Images: []string{"web:$ARGOCD_APP_REVISION"}, CommonAnnotations: map[string]string{"from": "$ARGOCD_APP_SOURCE_REPO_URL@$ARGOCD_APP_SOURCE_TARGET_REVISION"}, CommonAnnotationsEnvsubst: true,
		},
	}
	target := gitops.Target{Name: "shop-eu", Project: "store", Region: "eu-1", Namespace: "shop", Source: source}
	got := expand(source, environment(target, source, "0123456789abcdef"))
	require.Equal(t, &gitops.Helm{
		ReleaseName: "$ARGOCD_APP_NAME", Values: "a: $ARGOCD_APP_NAME",
		ValueFiles:     []string{"shop-eu/values.yaml", "$values/eu-1.yaml", "plain.yaml"},
		Parameters:     []gitops.HelmParameter{{Name: "a", Value: "shop-eu-eu-1--$x"}},
		FileParameters: []gitops.HelmFileParameter{{Name: "f", Path: "files/01234567"}},
	}, got.Helm)
	require.Equal(t, "app", got.Directory.Jsonnet.ExtVars[0].Value)
	require.Equal(t, "store", got.Directory.Jsonnet.TLAs[0].Value)
	require.Equal(t, []string{"web:0123456789abcdef"}, got.Kustomize.Images)
	require.Equal(t, map[string]string{"from": "https://example.com/shop@main"}, got.Kustomize.CommonAnnotations)
	require.Equal(t, "$ARGOCD_APP_NAME/values.yaml", source.Helm.ValueFiles[0], "the target itself stays as it is")

	source.Kustomize.CommonAnnotationsEnvsubst = false
	require.Contains(t, expand(source, environment(target, source, "")).Kustomize.CommonAnnotations["from"], "$ARGOCD_APP_SOURCE_REPO_URL")
}
