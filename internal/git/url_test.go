package git_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidegate/tidegate/internal/git"
)

func TestAllSpellingsOfARepositoryHaveOneIdentity(t *testing.T) {
	for _, raw := range []string{
		"https://example.com/org/repo",
		"https://example.com/org/repo.git",
		"https://example.com/org/repo/",
		"https://example.com/org/repo.git/",
		"https://example.com:443/org/repo",
		"https://example.com:0443/org//repo",
		"http://example.com:80/org/repo",
		"https://Example.COM/Org/Repo.git",
		"https://user:p%40ss@example.com/org/repo",
		"ssh://git@example.com/org/repo.git",
		"ssh://git@example.com:22/org/repo.git",
		"git@example.com:org/repo.git",
		"git@example.com:/org/repo",
		"example.com:org/repo",
		"https://example.com/org/x/../repo",
	} {
		got, err := git.NormalizeURL(raw)
		require.NoError(t, err, raw)
		require.Equal(t, "example.com/org/repo", got, raw)
	}
}

func TestDifferentRepositoriesHaveDifferentIdentities(t *testing.T) {
	for raw, want := range map[string]string{
		"https://example.com:8443/org/repo":    "example.com:8443/org/repo",
		"ssh://git@example.com:2222/org/repo":  "example.com:2222/org/repo",
		"http://127.0.0.1:3000/shop.git":       "127.0.0.1:3000/shop",
		"http://[::1]:3000/shop.git":           "[::1]:3000/shop",
		"https://[2001:DB8::1]/shop.git":       "[2001:db8::1]/shop",
		"file:///srv/git/Shop.git":             "file/srv/git/Shop",
		"file://localhost/srv/git/Shop.git":    "file/srv/git/Shop",
		"file:///srv/git/Shop/.git":            "file/srv/git/Shop",
		"https://dev.azure.com/o/p/_git/r":     "dev.azure.com/o/p/_git/r",
		"https://example.com/group/sub/re-po":  "example.com/group/sub/re-po",
		"https://example.com/org/re%20po":      "example.com/org/re%20po",
		"https://example.com/~me/repo":         "example.com/~me/repo",
		"https://example.com/file/srv/git/abc": "example.com/file/srv/git/abc",
	} {
		got, err := git.NormalizeURL(raw)
		require.NoError(t, err, raw)
		require.Equal(t, want, got, raw)
	}
}

func TestAnUnusableURLSaysWhatIsWrong(t *testing.T) {
	for raw, want := range map[string]string{
		"":                              "empty",
		"org/repo":                      "neither",
		"./repo":                        "neither",
		"../repo":                       "neither",
		"/srv/git/repo":                 "file:///path",
		"C:\\repo":                      "backslash",
		"ftp://example.com/org/repo":    "scheme is not supported",
		"https://example.com":           "names no repository",
		"https://example.com/.git":      "names no repository",
		"https:///org/repo":             "names no host",
		"https://file/org/repo":         "folder",
		"file://srv/repo":               "three slashes",
		"file:///":                      "names no repository",
		"https://example.com/r?x=1":     "no ? or #",
		"https://example.com/r#main":    "no ? or #",
		"https://example.com/a b":       "blank",
		"ssh://::/org/repo":             "IPv6",
		"https://münchen.example/a":     "xn--",
		"https://example.com/a\nb":      "control",
		"https://example.com:abc/a":     "not a valid URL",
		"https://u:pa/ss@example.com/a": "not a valid URL",
	} {
		_, err := git.NormalizeURL(raw)
		require.ErrorIs(t, err, git.KindURL, raw)
		require.ErrorContains(t, err, want, raw)
	}
}

func TestAnErrorAboutAURLNeverRepeatsThePassword(t *testing.T) {
	for _, raw := range []string{
		"https://me:hunter2@example.com",
		"https://me:hunter2/x@example.com/a",
		"https://me:hunter2@x@example.com:port/a",
		"ftp://me:hunter2@example.com/a",
		"me:hunter2@example.com",
		"https://me:hunter2@example.com/a?token=1",
	} {
		_, err := git.NormalizeURL(raw)
		if err != nil {
			require.NotContains(t, err.Error(), "hunter2", raw)
		}
	}
}

func FuzzNormalizeURL(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/org/repo.git", "git@example.com:org/repo.git", "ssh://git@h:22/a/b", "file:///srv/a.git",
		"http://[::1]:80/a", "https://u:p@h/a%2fb/../c", "https://h:0/x", "h:..", "h:a/.GIT", "ssh://::/0", "ssh://%80/0", "0:00000@/0", "https://[0:0::1]/x", "https://H/%C3%89.git.git/",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		id, err := git.NormalizeURL(raw)
		if err != nil {
			require.ErrorIs(t, err, git.KindURL)
			require.Empty(t, id)
			return
		}
		require.NotContains(t, id, "://")
		host, _, _ := strings.Cut(id, "/")
		require.NotContains(t, host, "@")
		require.False(t, strings.HasSuffix(id, "/"), id)
		require.False(t, strings.HasSuffix(id, ".git"), id)
		again := "https://" + id
		if strings.HasPrefix(id, "file/") {
			again = "file://" + strings.TrimPrefix(id, "file")
		}
		twice, err := git.NormalizeURL(again)
		require.NoError(t, err, id)
		require.Equal(t, id, twice, "an identity is its own identity")
	})
}
