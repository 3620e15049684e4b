package config_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/config"
	"github.com/tidegate/tidegate/internal/gitops"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each testdata/<claim>.yaml is a settings file, and <claim>.golden what Load
// says of it: the settings that count, or every mistake.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	here, err := filepath.Abs("testdata")
	require.NoError(t, err)
	for _, file := range files {
		claim := strings.TrimSuffix(file, ".yaml")
		t.Run(filepath.Base(claim), func(t *testing.T) {
			got := strings.ReplaceAll(describe(config.Load(file)), here, "/folder")
			golden := claim + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err, "run the test with -update")
			require.Equal(t, string(want), got)
		})
	}
}

func describe(s config.Settings, err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	out, err := yaml.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

func TestFileIsLookedForInOrder(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := config.Load("")
	require.EqualError(t, err, "no settings file: none of tidegate.yaml, .local/tidegate.yaml is here; name one with --config or TIDEGATE_CONFIG")

	for i, file := range []string{".local/tidegate.yaml", "tidegate.yaml", "elsewhere.yaml", "flag.yaml"} {
		write(t, file, "temporal: {namespace: "+filepath.Base(filepath.Dir(file))+filepath.Base(file)+"}")
		path := ""
		if i == 2 {
			t.Setenv("TIDEGATE_CONFIG", file)
		}
		if i == 3 {
			path = file
		}
		s, err := config.Load(path)
		require.NoError(t, err)
		require.Equal(t, filepath.Base(filepath.Dir(file))+filepath.Base(file), s.Temporal.Namespace)
	}
	_, err = config.Load("missing.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestSecretComesFromEnvironmentAndIsNeverShown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tidegate.yaml")
	write(t, file, "webhook: {githubSecret: from-file}")
	s, err := config.Load(file)
	require.NoError(t, err)
	require.Equal(t, "from-file", s.Webhook.GithubSecret.Reveal())

	t.Setenv("TIDEGATE_WEBHOOK_GITHUB_SECRET", "from-environment")
	s, err = config.Load(file)
	require.NoError(t, err)
	require.Equal(t, "from-environment", s.Webhook.GithubSecret.Reveal())

	asJSON, err := json.Marshal(s)
	require.NoError(t, err)
	asYAML, err := yaml.Marshal(s)
	require.NoError(t, err)
	secret := s.Webhook.GithubSecret
	for _, shown := range []string{string(asJSON), string(asYAML), fmt.Sprint(secret), fmt.Sprintf("%#v %+v %q %x %d", s, s, secret, secret, secret)} {
		require.NotContains(t, shown, "environment")
		require.Contains(t, shown, "***")
	}
}

func TestPathsAreRelativeToTheSettingsFile(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "etc/tidegate.yaml"), `
artifacts: {url: "file://./blobs", keyFile: ../key}
render: {binary: bin/tidegate-render}
git: {fileRoot: ../repositories, credentials: [{url: "https://example.com", passwordFile: token}]}
regions: [{name: eu-1, kubeconfig: eu-1.kubeconfig}]
`)
	t.Chdir(folder)
	s, err := config.Load("etc/tidegate.yaml")
	require.NoError(t, err)
	require.Equal(t, "file://"+folder+"/etc/blobs", s.Artifacts.URL)
	require.Equal(t, folder+"/key", s.Artifacts.KeyFile)
	require.Equal(t, folder+"/etc/catalog", s.Catalog.Path)
	require.Equal(t, folder+"/repositories", s.Git.FileRoot)
	require.Equal(t, folder+"/etc/token", s.Git.Credentials[0].PasswordFile)
	require.Equal(t, folder+"/etc/bin/tidegate-render", s.Render.Binary)
	require.Equal(t, folder+"/etc/eu-1.kubeconfig", s.Regions[0].Kubeconfig)
	require.Equal(t, 2*time.Minute, s.Git.PollInterval)
}

func TestFleetIsTheRegionsWithoutTheirCredentials(t *testing.T) {
	s := config.Settings{Regions: []config.Region{
		{Name: "eu-1", Kubeconfig: "/secret", Labels: map[string]string{"stage": "dev"}, Aliases: []string{"in-cluster"}},
	}}
	require.Equal(t, []gitops.Region{{Name: "eu-1", Labels: map[string]string{"stage": "dev"}, Aliases: []string{"in-cluster"}}}, s.Fleet())
	eu, ok := s.Region("eu-1")
	require.True(t, ok)
	require.Equal(t, "/secret", eu.Kubeconfig)
	_, ok = s.Region("eu-2")
	require.False(t, ok)
}

// Whatever a file holds, Load answers with settings or an error that names it.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(f, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte("regions: &a [*a]"))
	f.Add([]byte("git: &a {credentials: [*a]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "tidegate.yaml")
		require.NoError(t, os.WriteFile(file, data, 0o600))
		s, err := config.Load(file)
		if err != nil {
			require.ErrorContains(t, err, file)
			return
		}
		require.NotEmpty(t, s.Temporal.Address)
		require.True(t, filepath.IsAbs(s.Catalog.Path))
	})
}

func write(t *testing.T, file, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
}
