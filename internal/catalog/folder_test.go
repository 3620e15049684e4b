package catalog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/catalog"
)

func TestAFolderThatCannotBeReadIsAnError(t *testing.T) {
	_, err := catalog.Load(filepath.Join(t.TempDir(), "missing"), options())
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestAnEmptyFolderIsAProblemSoThatNothingIsRetired(t *testing.T) {
	cat, err := catalog.Load(t.TempDir(), options())
	require.NoError(t, err)
	require.Empty(t, cat.Deliveries)
	require.Contains(t, messages(cat), "the folder has no .yaml")

	require.Empty(t, load(t, map[string]string{"nothing.yaml": "# on purpose\n"}).Problems)
}

func TestOtherAndHiddenFilesAreLeftOut(t *testing.T) {
	cat := load(t, map[string]string{
		"README.md": "no: [yaml", ".git/config.yaml": "no: [yaml", ".hidden.yaml": "no: [yaml", "app.json": `{"apiVersion": "v1", "kind": "List", "items": []}`,
	})
	require.Empty(t, cat.Problems)
}

func TestLinksOutOfTheFolderAreRefusedAndThoseWithinAreFollowed(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret.yaml"), []byte("token: very-secret"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.yaml"), filepath.Join(dir, "link.yaml")))
	require.NoError(t, os.Symlink("../"+filepath.Base(outside)+"/secret.yaml", filepath.Join(dir, "relative.yaml")))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "folder")))
	require.NoError(t, os.Symlink("nowhere.yaml", filepath.Join(dir, "broken.yaml")))
	require.NoError(t, os.Symlink(".", filepath.Join(dir, "self")))
	// As Kubernetes mounts a ConfigMap.
	require.NoError(t, os.Mkdir(filepath.Join(dir, "..data_1"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "..data_1", "app.yaml"), []byte(pipelineOf("one")), 0o600))
	require.NoError(t, os.Symlink("..data_1", filepath.Join(dir, "..data")))
	require.NoError(t, os.Symlink("..data/app.yaml", filepath.Join(dir, "app.yaml")))

	cat, err := catalog.Load(dir, options())
	require.NoError(t, err)
	found := messages(cat)
	for _, name := range []string{"link.yaml", "relative.yaml", "folder", "broken.yaml"} {
		require.Contains(t, found, name+":0 the link is broken or leads out of the folder")
	}
	require.Contains(t, found, "self:0 a linked folder is not read")
	require.NotContains(t, found, "very-secret")
	require.Equal(t, []string{"default/one"}, keys(cat), "the file behind the link within the folder is read")
}

func TestAFileThatIsTooLargeIsRefused(t *testing.T) {
	cat := load(t, map[string]string{"large.yaml": strings.Repeat("# filler\n", 600_000), "app.yaml": pipelineOf("one")})
	require.Contains(t, messages(cat), "large.yaml:0 the file has more than 5 MiB; split it")
	require.Equal(t, []string{"default/one"}, keys(cat))
}

// pipelineOf is a Pipeline over one Application.
func pipelineOf(name string) string {
	return strings.Replace(app(name+"-app", "eu-1"), "metadata: {", "metadata: {labels: {of: "+name+"}, ", 1) + `---
apiVersion: tidegate.dev/v1alpha1
kind: Pipeline
metadata: {name: ` + name + `}
spec:
  selector: {matchLabels: {of: ` + name + `}}
  stages: [{name: only}]
`
}
