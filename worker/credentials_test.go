package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/tidegate/tidegate/internal/charts"
	"github.com/tidegate/tidegate/internal/config"
)

func TestTheLongestURLGivesThePassword(t *testing.T) {
	file := func(password string) string {
		path := filepath.Join(t.TempDir(), "password")
		require.NoError(t, os.WriteFile(path, []byte(password+"\n"), 0o600))
		return path
	}
	list := []config.Credential{
		{URL: "https://github.com", Username: "host", PasswordFile: file("1")},
		{URL: "https://github.com/acme", Username: "acme", PasswordFile: file("2")},
		{URL: "oci://ghcr.io/acme", Username: "registry", PasswordFile: file("3")},
		{URL: "https://charts.example.com:443/", Username: "charts", PasswordFile: file("4")},
	}
	find := credentials(list, zap.NewNop())
	for identity, want := range map[string]string{
		"github.com/acme/shop": "acme", "github.com/acme": "acme", "github.com/acme-evil/shop": "host", "github.com.evil/x": "", "example.com/a": "",
	} {
		found, ok := find(identity)
		require.Equal(t, want, found.Username, identity)
		require.Equal(t, want != "", ok, identity)
	}
	findChart := program{settings: config.Settings{Git: config.Git{Credentials: list}}, log: zap.NewNop()}.chartCredentials()
	for identity, want := range map[string]charts.Credential{
		"ghcr.io/acme#web": {Username: "registry", Password: "3"}, "charts.example.com#web": {Username: "charts", Password: "4"}, "ghcr.io/other#web": {},
	} {
		found, _ := findChart(identity)
		require.Equal(t, want, found, identity)
	}
}

func TestManifestsMayReferToWhatTheSettingsAllow(t *testing.T) {
	for _, c := range []struct {
		entries  []string
		identity string
		may      bool
	}{
		{nil, "github.com/acme/shop", false},
		{[]string{"*"}, "github.com/acme/shop", true},
		{[]string{"https://github.com/acme"}, "github.com/acme/shop", true},
		{[]string{"https://github.com/acme/"}, "github.com/acme/shop", true},
		{[]string{"https://github.com/acme"}, "github.com/acme-evil/shop", false},
		{[]string{"https://github.com"}, "github.com/acme/shop", true},
		{[]string{"https://github.com"}, "github.com.evil/acme/shop", false},
		{[]string{"oci://ghcr.io/acme"}, "ghcr.io/acme/redis", true},
	} {
		require.Equal(t, c.may, mayFetch(c.entries)(c.identity), "%v %s", c.entries, c.identity)
	}
}
