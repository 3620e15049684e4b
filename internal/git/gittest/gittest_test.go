package gittest_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"github.com/tidegate/tidegate/internal/git/gittest"
)

func lsRemote(t *testing.T, url string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-remote", url)
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.Output()
	return string(out), err
}

func TestAPushIsSeenOverHTTPAndInTheFolder(t *testing.T) {
	repo := gittest.NewServer(t).NewRepo("org/shop")
	repo.CopyTree(fstest.MapFS{"deploy.yaml": {Data: []byte("kind: Deployment"), Mode: 0o644}}, "apps/shop")
	sha := repo.CommitAndPush("first")
	require.Equal(t, "kind: Deployment", repo.ServerGit("show", "main:apps/shop/deploy.yaml"))
	for _, url := range []string{repo.URL, repo.FileURL} {
		out, err := lsRemote(t, url)
		require.NoError(t, err)
		require.Contains(t, out, sha+"\trefs/heads/main")
	}
	repo.Remove("apps")
	repo.CommitAndPush("empty")
	require.Empty(t, repo.ServerGit("ls-tree", "main"))
}

func TestOnPushTellsWhatMovedOnceItMoved(t *testing.T) {
	repo := gittest.NewServer(t).NewRepo("shop")
	pushes := make(chan gittest.Push, 10)
	repo.OnPush(func(p gittest.Push) { pushes <- p })
	first := repo.CommitAndPush("first")
	require.Equal(t, gittest.Push{Repo: repo, Ref: "refs/heads/main", New: first}, <-pushes)
	second := repo.CommitAndPush("second")
	require.Equal(t, gittest.Push{Repo: repo, Ref: "refs/heads/main", Old: first, New: second}, <-pushes)
	repo.ForcePush("main", first)
	require.Equal(t, gittest.Push{Repo: repo, Ref: "refs/heads/main", Old: second, New: first}, <-pushes)
	repo.ForcePush("side", second)
	require.Equal(t, gittest.Push{Repo: repo, Ref: "refs/heads/side", New: second}, <-pushes)
	repo.DeleteBranch("side")
	require.Equal(t, gittest.Push{Repo: repo, Ref: "refs/heads/side", Old: second}, <-pushes)
	require.Empty(t, pushes)
}

func TestAHookRunsOnTheServer(t *testing.T) {
	repo := gittest.NewServer(t).NewRepo("shop")
	mark := filepath.Join(t.TempDir(), "mark")
	repo.Hook("post-receive", "#!/bin/sh\ncat > '"+mark+"'\n")
	sha := repo.CommitAndPush("first")
	got, err := os.ReadFile(mark)
	require.NoError(t, err)
	require.Contains(t, string(got), sha+" refs/heads/main")
}

func TestAPasswordKeepsOthersOut(t *testing.T) {
	server := gittest.NewServer(t)
	repo := server.NewRepo("shop")
	server.RequirePassword("robot", "secret")
	repo.CommitAndPush("the owner may")
	_, err := lsRemote(t, repo.URL)
	require.Error(t, err)
	server.RequirePassword("", "")
	_, err = lsRemote(t, repo.URL)
	require.NoError(t, err)
}

func TestAnInterceptedRequestIsCountedAndNotServed(t *testing.T) {
	server := gittest.NewServer(t)
	repo := server.NewRepo("shop")
	server.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusTeapot)
		return true
	})
	_, err := lsRemote(t, repo.URL)
	require.Error(t, err)
	require.Equal(t, []string{"GET /shop.git/info/refs"}, server.Requests())
	require.Empty(t, server.Requests())
}

func TestTheSameContentIsTheSameCommit(t *testing.T) {
	server := gittest.NewServer(t)
	one, two := server.NewRepo("one"), server.NewRepo("two")
	require.Equal(t, one.CommitFiles(map[string]string{"a": "1"}, "x"), two.CommitFiles(map[string]string{"a": "1"}, "x"))
	require.NotEqual(t, one.Commit("x"), one.Commit("x"))
}
