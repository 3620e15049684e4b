package activities_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/artifact"
	"github.com/tidegate/tidegate/internal/git"
	"github.com/tidegate/tidegate/internal/git/gittest"
	"github.com/tidegate/tidegate/internal/gitops"
)

// TestSubmodulesAreCheckedOutByChoice has a repository with a submodule that has
// one itself, by a relative URL.
func TestSubmodulesAreCheckedOutByChoice(t *testing.T) {
	server := gittest.NewServer(t)
	inner, lib, shop := server.NewRepo("org/inner"), server.NewRepo("org/lib"), server.NewRepo("org/shop")
	add := func(into *gittest.Repo, at, url, commit string) string {
		into.Write(".gitmodules", "[submodule \""+at+"\"]\n\tpath = "+at+"\n\turl = "+url+"\n")
		into.Git("add", ".")
		into.Git("update-index", "--add", "--cacheinfo", "160000,"+commit+","+at)
		into.Git("commit", "-q", "-m", "a submodule")
		into.Push("main")
		return into.Head()
	}
	inner.Write("deep", "1")
	innerCommit := inner.CommitAndPush("first")
	lib.Write("file", "1")
	lib.Commit("first")
	libCommit := add(lib, "vendor/inner", "../inner.git", innerCommit)
	shop.Write("app/a.yaml", "1")
	shop.Commit("first")
	head := add(shop, "vendor/lib", lib.URL, libCommit)

	store := memory(t)
	mirrors, err := git.New(git.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	identity, err := git.NormalizeURL(shop.URL)
	require.NoError(t, err)
	checkOut := func(source *activities.Source) (map[string]string, error) {
		source.Mirrors, source.Blobs = mirrors, activities.Blobs{Store: store}
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		env.RegisterActivity(source)
		value, err := env.ExecuteActivity(source.CheckOut, activities.CheckOutInput{Sources: []activities.SourceAt{{
			RepoURL: shop.URL, Ref: gitops.Ref{Repository: identity, Revision: "main"}, Commit: head,
		}}})
		if err != nil {
			return nil, err
		}
		var result activities.CheckOutResult
		require.NoError(t, value.Get(&result))
		data, err := source.Blobs.Get(t.Context(), result.Checkouts[0].Digest)
		require.NoError(t, err)
		return filesOf(t, data), nil
	}
	files, err := checkOut(&activities.Source{})
	require.NoError(t, err)
	require.NotContains(t, files, "vendor/lib/file")
	_, err = checkOut(&activities.Source{Submodules: true})
	require.ErrorContains(t, err, "submodule vendor/lib: ")
	require.ErrorContains(t, err, "git.remoteSources in the settings does not allow it")
	files, err = checkOut(&activities.Source{Submodules: true, MayFetch: func(string) bool { return true }})
	require.NoError(t, err)
	require.Equal(t, "1", files["vendor/lib/file"])
	require.Equal(t, "1", files["vendor/lib/vendor/inner/deep"])
	require.Equal(t, "1", files["app/a.yaml"])
	hashes, err := mirrors.TreeHashes(t.Context(), shop.URL, head, []string{"vendor/lib/file"})
	require.NoError(t, err)
	require.Equal(t, libCommit, hashes["vendor/lib/file"], "another commit of the submodule may be another file")
}

func memory(t *testing.T) *artifact.Store {
	t.Helper()
	store, err := artifact.Open(t.Context(), artifact.Options{URL: "mem://"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func filesOf(t *testing.T, data []byte) map[string]string {
	t.Helper()
	files := map[string]string{}
	archive := tar.NewReader(bytes.NewReader(data))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		content, err := io.ReadAll(archive)
		require.NoError(t, err)
		files[header.Name] = string(content)
	}
}

func TestACommitThatNobodyHasSignedIsNotCheckedOut(t *testing.T) {
	repo := gittest.NewServer(t).NewRepo("org/shop")
	repo.Write("a", "1")
	head := repo.CommitAndPush("first")
	identity, err := git.NormalizeURL(repo.URL)
	require.NoError(t, err)
	mirrors, err := git.New(git.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	for required, want := range map[bool]string{false: "", true: "the commit is not signed; git.signatures in the settings wants it to be"} {
		source := &activities.Source{Mirrors: mirrors, Blobs: activities.Blobs{Store: memory(t)}, Signers: func(asked string) (git.Signers, bool) {
			require.Equal(t, identity, asked)
			return git.Signers{}, required
		}}
		env := suite.NewTestActivityEnvironment()
		env.RegisterActivity(source)
		_, err = env.ExecuteActivity(source.CheckOut, activities.CheckOutInput{Sources: []activities.SourceAt{{
			RepoURL: repo.URL, Ref: gitops.Ref{Repository: identity, Revision: "main"}, Commit: head,
		}}})
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
}
