package git_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/git"
	"github.com/tidegate/tidegate/internal/git/gittest"
)

func overSSH(t *testing.T, key, hosts string) *git.Mirrors {
	t.Helper()
	m, err := git.New(git.Options{Dir: t.TempDir(), KnownHosts: hosts, SSHKeys: func(string) (git.SSHKey, bool) {
		if key == "" {
			return git.SSHKey{}, false
		}
		read, err := git.ReadSSHKey(key, "")
		require.NoError(t, err)
		return read, true
	}})
	require.NoError(t, err)
	return m
}

func TestARepositoryIsReadOverSSH(t *testing.T) {
	server := gittest.NewServer(t)
	repo := server.NewRepo("org/shop")
	over := server.ServeSSH()
	m := overSSH(t, over.KeyFile, over.KnownHosts)
	for i, content := range []string{"one", "two"} { // the second fetch has a mirror to build on
		repo.Write("app/a.yaml", content)
		commit := repo.CommitAndPush("a commit")
		head, err := m.Resolve(t.Context(), over.URL+"/org/shop.git", "main")
		require.NoError(t, err)
		require.Equal(t, commit, head.Commit, i)
		require.NoError(t, m.Fetch(t.Context(), over.URL+"/org/shop.git", head))
		var tree bytes.Buffer
		_, err = m.Export(t.Context(), &tree, over.URL+"/org/shop.git", commit, "")
		require.NoError(t, err)
		require.Contains(t, tree.String(), content)
	}
}

func TestWhatIsWrongOverSSHIsSaid(t *testing.T) {
	server := gittest.NewServer(t)
	repo := server.NewRepo("shop")
	repo.Write("a", "b")
	repo.CommitAndPush("a commit")
	over := server.ServeSSH()
	for claim, c := range map[string]struct{ key, hosts, url, want string }{
		"no known hosts":       {over.KeyFile, "", "/shop.git", "name a file with the keys of hosts in git.knownHosts"},
		"another key of host":  {over.KeyFile, over.WrongHosts, "/shop.git", "the host shows another key than git.knownHosts has"},
		"an unknown host":      {over.KeyFile, "/dev/null", "/shop.git", "the host is not in git.knownHosts"},
		"no key":               {"", over.KnownHosts, "/shop.git", "there is no key for it; add 127.0.0.1:"},
		"a key that is no use": {over.OtherKey, over.KnownHosts, "/shop.git", "the server does not take the key"},
		"no such repository":   {over.KeyFile, over.KnownHosts, "/nowhere.git", ""},
	} {
		t.Run(claim, func(t *testing.T) {
			_, err := overSSH(t, c.key, c.hosts).Resolve(t.Context(), over.URL+c.url, "main")
			require.ErrorContains(t, err, c.want)
			t.Log(err)
		})
	}
}
