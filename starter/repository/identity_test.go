package repository_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/git"
	"github.com/tidegate/tidegate/starter/repository"
)

var spellings = []string{
	"https://github.com/acme/shop", "https://GitHub.com/Acme/Shop.git/", "git@github.com:acme/shop.git", "ssh://git@github.com:22/acme/shop",
	"https://user:secret@git.example:8443/a/b", "http://git.example:080/a", "https://[2001:DB8::1]/a", "https://[2001:db8::1]:444/a", "git://git.example/a.git.git",
	"file:///srv/Shop.git", "file://localhost/srv/shop", "file:///srv/a%20b", "https://git.example/a%2Fb", "https://git.example/../a",
	"", "shop", "https://", "https://host", "ftp://host/a", "https://host/a?b", "https://host/a#", "file://host/a", "file:///", "https://file/a", "https://hö.example/a", "a b", "file:a",
}

func TestBothPackagesNameTheSameRepository(t *testing.T) {
	for _, raw := range spellings {
		agree(t, raw)
	}
	identity, err := repository.Identity("git@github.com:Acme/Shop.git")
	require.NoError(t, err)
	require.Equal(t, "github.com/acme/shop", identity)
}

func TestTheErrorDoesNotRepeatThePassword(t *testing.T) {
	_, err := repository.Identity("https://user:hunter2@host/%zz")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
}

func FuzzBothPackagesNameTheSameRepository(f *testing.F) {
	for _, raw := range spellings {
		f.Add(raw)
	}
	f.Fuzz(agree)
}

func agree(t *testing.T, raw string) {
	want, wantErr := git.NormalizeURL(raw)
	got, err := repository.Identity(raw)
	require.Equal(t, wantErr == nil, err == nil, "%q: %v and %v", raw, wantErr, err)
	require.Equal(t, want, got, "%q", raw)
}
