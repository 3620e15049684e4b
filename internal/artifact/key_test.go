package artifact_test

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/tidegate/tidegate/internal/artifact"
)

func TestFirstStartMakesAPrivateKeyBesideTheFolder(t *testing.T) {
	url := fileURL(t)
	open(t, artifact.Options{URL: url})
	info, err := os.Stat(folderOf(url) + ".key")
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	beside, err := os.ReadDir(filepath.Dir(folderOf(url)))
	require.NoError(t, err)
	require.Len(t, beside, 2, "the folder and the key, no temporary file")
}

func TestManyFirstStartsAtOnceAgreeOnOneKey(t *testing.T) {
	for range 20 {
		url := fileURL(t)
		var group errgroup.Group
		macs := make([]string, 8)
		for i := range macs {
			group.Go(func() error {
				s, err := artifact.Open(t.Context(), artifact.Options{URL: url})
				if err != nil {
					return err
				}
				macs[i] = s.MAC("same", nil)
				if _, err := s.Put(t.Context(), "bundle", []byte("x")); err != nil {
					return err
				}
				return s.Close()
			})
		}
		require.NoError(t, group.Wait())
		for _, m := range macs {
			require.Equal(t, macs[0], m)
		}
	}
}

func TestALostKeyIsNeverMadeAnew(t *testing.T) {
	url := fileURL(t)
	s := open(t, artifact.Options{URL: url})
	_, err := s.Put(t.Context(), "bundle", []byte("x"))
	require.NoError(t, err)
	key := folderOf(url) + ".key"
	require.NoError(t, os.Remove(key))
	_, err = artifact.Open(t.Context(), artifact.Options{URL: url})
	require.ErrorIs(t, err, artifact.ErrKeyMissing)
	require.ErrorContains(t, err, key)
	require.NoFileExists(t, key)
}

func TestAnotherKeyIsRefused(t *testing.T) {
	url := fileURL(t)
	open(t, artifact.Options{URL: url, Key: bytes.Repeat([]byte{1}, 32)})
	open(t, artifact.Options{URL: url, Key: bytes.Repeat([]byte{1}, 32)})
	_, err := artifact.Open(t.Context(), artifact.Options{URL: url, Key: bytes.Repeat([]byte{2}, 32)})
	require.ErrorIs(t, err, artifact.ErrWrongKey)
}

func TestTwoKeysShareNoDigest(t *testing.T) {
	one := open(t, artifact.Options{URL: "mem://", Key: bytes.Repeat([]byte{1}, 32)})
	other := open(t, artifact.Options{URL: "mem://", Key: bytes.Repeat([]byte{2}, 32)})
	require.NotEqual(t, one.MAC("a", nil), other.MAC("a", nil))
	d1, err := one.Put(t.Context(), "bundle", nil)
	require.NoError(t, err)
	d2, err := other.Put(t.Context(), "bundle", nil)
	require.NoError(t, err)
	require.NotEqual(t, d1, d2)
}

func TestAKeyFileOfTheOperatorIsUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	key := bytes.Repeat([]byte{7}, 32)
	require.NoError(t, os.WriteFile(path, []byte(base64.StdEncoding.EncodeToString(key)+"\n"), 0o600))
	fromFile := open(t, artifact.Options{URL: "mem://", KeyFile: path})
	given := open(t, artifact.Options{URL: "mem://", Key: key})
	require.Equal(t, given.MAC("a", nil), fromFile.MAC("a", nil))
}

func TestSettingsThatCannotWorkAreExplained(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken")
	require.NoError(t, os.WriteFile(broken, []byte("c2hvcnQ=\n"), 0o600))
	for name, c := range map[string]struct {
		options artifact.Options
		says    string
	}{
		"no URL":                {artifact.Options{}, "file:///"},
		"not a URL":             {artifact.Options{URL: "%zz"}, "file:///"},
		"unknown scheme":        {artifact.Options{URL: "ftp://x"}, "ftp"},
		"short key":             {artifact.Options{URL: "mem://", Key: []byte("short")}, "it must have 32"},
		"broken key file":       {artifact.Options{URL: "mem://", KeyFile: broken}, "32 bytes in base64"},
		"missing key, not ours": {artifact.Options{URL: "mem://", KeyFile: filepath.Join(t.TempDir(), "none")}, "head -c 32 /dev/urandom"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := artifact.Open(t.Context(), c.options)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "c2hvcnQ", "an error never quotes a key")
		})
	}
}
