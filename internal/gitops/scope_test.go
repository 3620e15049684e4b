package gitops_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/gitops"
)

func TestResourcesAreSelectedAsByArgoCD(t *testing.T) {
	web := gitops.ObjectKey{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	service := gitops.ObjectKey{Kind: "Service", Namespace: "shop", Name: "web"}
	class := gitops.ObjectKey{Group: "storage.k8s.io", Kind: "StorageClass", Name: "fast"}
	for resources, want := range map[string][]gitops.ObjectKey{
		"":                                     {web, service, class},
		"apps:Deployment:web":                  {web},
		":Service:*":                           {service},
		"*:*:shop/web":                         {web, service},
		"*:*:other/web":                        nil,
		"storage.k8s.io:StorageClass:fast":     {class},
		"!apps:Deployment:*":                   {service, class},
		"*:*:web !:Service:web":                {web},
		"apps:Deployment:web :Service:shop/w*": {web, service},
		"Deployment:apps:web":                  nil,
	} {
		selectors, err := gitops.SyncScope{Resources: strings.Fields(resources)}.Selectors()
		require.NoError(t, err, resources)
		var got []gitops.ObjectKey
		for _, key := range []gitops.ObjectKey{web, service, class} {
			if selectors.Select(key) {
				got = append(got, key)
			}
		}
		require.Equal(t, want, got, resources)
	}
	for _, text := range []string{"web", "Deployment:web", "apps:Deployment:", "apps::web", "apps:Deploy[ment:web", "a:b:c:d", ""} {
		require.ErrorContains(t, gitops.SyncScope{Resources: []string{text}}.Check(), "selects no object", text)
	}
}

func FuzzParseSelector(f *testing.F) {
	for _, text := range []string{"apps:Deployment:web", "!:Service:*", "a:b:c/d", "::", "[:a:b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := gitops.ParseSelector(text)
		if err != nil {
			return
		}
		require.NotEmpty(t, s.Kind)
		s.Matches(gitops.ObjectKey{Group: s.Group, Kind: s.Kind, Namespace: "n", Name: s.Name})
	})
}
