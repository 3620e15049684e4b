package git_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidegate/tidegate/internal/git"
	"github.com/tidegate/tidegate/internal/git/gittest"
)

// bigRepo has 200 folders of 20 files.
func bigRepo(b *testing.B) (repo *gittest.Repo, root string, folders []string) {
	b.Helper()
	server := gittest.NewServer(b)
	repo = server.NewRepo("big")
	for i := range 200 {
		folder := fmt.Sprintf("apps/team-%d/app-%d", i%10, i)
		folders = append(folders, folder)
		for j := range 20 {
			repo.Write(fmt.Sprintf("%s/%d.yaml", folder, j), fmt.Sprintf("kind: ConfigMap\nname: c%d-%d\n", i, j))
		}
	}
	return repo, server.Dir, folders
}

func openMirrors(b *testing.B, root string) *git.Mirrors {
	b.Helper()
	m, err := git.New(git.Options{Dir: b.TempDir(), FileRoot: root})
	require.NoError(b, err)
	return m
}

func BenchmarkFirstFetch(b *testing.B) {
	repo, root, _ := bigRepo(b)
	head := git.Head{Ref: "refs/heads/main", Commit: repo.CommitAndPush("first")}
	for name, url := range map[string]string{"http": repo.URL, "file": repo.FileURL} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				m := openMirrors(b, root)
				b.StartTimer()
				require.NoError(b, m.Fetch(b.Context(), url, head))
			}
		})
	}
}

func BenchmarkResolveAndFetchAPush(b *testing.B) {
	repo, root, _ := bigRepo(b)
	repo.CommitAndPush("first")
	n := 0
	for name, url := range map[string]string{"http": repo.URL, "file": repo.FileURL} {
		b.Run(name, func(b *testing.B) {
			m := openMirrors(b, root)
			for b.Loop() {
				b.StopTimer()
				n++
				repo.Write("apps/team-1/app-1/0.yaml", fmt.Sprint(n))
				repo.CommitAndPush("next")
				b.StartTimer()
				head, err := m.Resolve(b.Context(), url, "main")
				require.NoError(b, err)
				require.NoError(b, m.Fetch(b.Context(), url, head))
			}
		})
	}
}

func BenchmarkTreeHashesOf200Folders(b *testing.B) {
	repo, root, folders := bigRepo(b)
	sha := repo.CommitAndPush("first")
	m := openMirrors(b, root)
	require.NoError(b, m.Fetch(b.Context(), repo.URL, git.Head{Commit: sha}))
	for b.Loop() {
		_, err := m.TreeHashes(b.Context(), repo.URL, sha, folders)
		require.NoError(b, err)
	}
}

func BenchmarkExportOf4000Files(b *testing.B) {
	repo, root, _ := bigRepo(b)
	sha := repo.CommitAndPush("first")
	m := openMirrors(b, root)
	require.NoError(b, m.Fetch(b.Context(), repo.URL, git.Head{Commit: sha}))
	for b.Loop() {
		_, err := m.Export(b.Context(), io.Discard, repo.URL, sha, "")
		require.NoError(b, err)
	}
}
