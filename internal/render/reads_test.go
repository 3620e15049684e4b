package render_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/render"
)

func TestADigestChangesWithWhatIsReadAndWithNothingElse(t *testing.T) {
	hashes := map[string]string{"a": "1", "b": "2", "other": "3"}
	lookup := func(path string) (string, bool) { h, ok := hashes[path]; return h, ok }
	reads := []string{"b", "absent", "a", "a"}
	before := render.Digest(reads, lookup)
	require.Equal(t, before, render.Digest([]string{"a", "absent", "b"}, lookup), "neither order nor repetition matters")

	hashes["other"] = "changed"
	require.Equal(t, before, render.Digest(reads, lookup))
	hashes["a"] = "changed"
	require.NotEqual(t, before, render.Digest(reads, lookup), "a file has changed")
	hashes["a"] = "1"
	hashes["absent"] = ""
	require.NotEqual(t, before, render.Digest(reads, lookup), "a file has appeared")
	delete(hashes, "absent")
	delete(hashes, "b")
	require.NotEqual(t, before, render.Digest(reads, lookup), "a file has gone")
}

func TestAFingerprintSeesEveryChangeOfWhatIsRead(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"a file changes":             func(t *testing.T, dir string) { write(t, dir, "file", "new") },
		"a file appears":             func(t *testing.T, dir string) { write(t, dir, "absent", "new") },
		"a file appears in a folder": func(t *testing.T, dir string) { write(t, dir, "folder/deep/new", "") },
		"a file in a folder changes": func(t *testing.T, dir string) { write(t, dir, "folder/deep/a", "new") },
		"a file in a folder is moved": func(t *testing.T, dir string) {
			require.NoError(t, os.Rename(dir+"/folder/deep/a", dir+"/folder/deep/b"))
		},
		"a link leads elsewhere": func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(dir+"/link"))
			require.NoError(t, os.Symlink("folder", dir+"/link"))
		},
		"a file becomes a folder": func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(dir+"/file"))
			write(t, dir, "file/a", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "file", "old")
			write(t, dir, "folder/deep/a", "old")
			write(t, dir, "unread", "old")
			require.NoError(t, os.Symlink("file", dir+"/link"))
			print := func() string {
				p, err := render.Fingerprint(dir, []string{"absent", "file", "file/below", "folder", "link"})
				require.NoError(t, err)
				return p
			}
			before := print()
			write(t, dir, "unread", "new")
			require.Equal(t, before, print(), "what is not read does not matter")
			change(t, dir)
			require.NotEqual(t, before, print())
		})
	}
}

func TestAFingerprintDoesNotFollowALinkOutOfTheCheckout(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "tree")
	write(t, dir, "a", "")
	write(t, parent, "secret", "1")
	require.NoError(t, os.Symlink("../secret", filepath.Join(dir, "link")))
	before, err := render.Fingerprint(dir, []string{"link"})
	require.NoError(t, err)
	write(t, parent, "secret", "2")
	after, err := render.Fingerprint(dir, []string{"link"})
	require.NoError(t, err)
	require.Equal(t, before, after)
	_, err = render.Fingerprint(dir, []string{"../secret"})
	require.Error(t, err)
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
}
