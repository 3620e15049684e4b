package git_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidegate/tidegate/internal/git"
)

func TestTreeHashesAreGitsOwn(t *testing.T) {
	overBoth(t, func(t *testing.T, f fixture, url string) {
		f.repo.Write("apps/shop/deploy.yaml", "kind: Deployment")
		f.repo.Write("apps/shop/svc.yaml", "kind: Service")
		f.repo.Write("README.md", "hello")
		sha := f.repo.CommitAndPush("first")
		got, err := f.mirrors.TreeHashes(t.Context(), url, sha, []string{
			"", ".", "apps", "apps/shop/", "./apps/shop/svc.yaml", "apps/none", "README.md/x", "../etc", "apps/../README.md",
		})
		require.NoError(t, err)
		require.Equal(t, map[string]string{
			"": f.repo.Git("rev-parse", "HEAD^{tree}"), ".": f.repo.Git("rev-parse", "HEAD^{tree}"),
			"apps": f.repo.Git("rev-parse", "HEAD:apps"), "apps/shop/": f.repo.Git("rev-parse", "HEAD:apps/shop"),
			"./apps/shop/svc.yaml": f.repo.Git("rev-parse", "HEAD:apps/shop/svc.yaml"),
			"apps/none":            "", "README.md/x": "", "../etc": "",
			"apps/../README.md": f.repo.Git("rev-parse", "HEAD:README.md"),
		}, got)
	})
}

func TestAMissingPathNamesItsNeighbours(t *testing.T) {
	f := newFixture(t)
	f.repo.Write("apps/shop/deploy.yaml", "kind: Deployment")
	f.repo.Write("apps/cart/deploy.yaml", "kind: Deployment")
	sha := f.repo.CommitAndPush("first")
	for file, near := range map[string]string{
		"apps/shopp": "nearest: apps/shop", "apps/none/x/y": "apps/cart", "app": "nearest: apps", "apps/shop/deploy.yml": "apps/shop/deploy.yaml",
		"../apps": "nearest: apps",
	} {
		_, err := f.mirrors.TreeHash(t.Context(), f.repo.URL, sha, file)
		require.ErrorIs(t, err, git.KindPath, file)
		require.ErrorContains(t, err, near)
		require.ErrorContains(t, err, file)
		require.ErrorContains(t, err, sha)
	}
}
