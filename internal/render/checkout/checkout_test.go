package checkout_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/tidegate/tidegate/internal/render/checkout"
)

func archive(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		content := ""
		if h.Typeflag == 0 || h.Typeflag == tar.TypeReg {
			content = strings.Repeat("x", 10)
			h.Size = int64(len(content))
		}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		require.NoError(t, w.WriteHeader(&h))
		_, err := w.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestWhatLeadsOutOfTheCheckoutIsRefusedByName(t *testing.T) {
	for name, c := range map[string]struct {
		headers []tar.Header
		says    string
	}{
		"a name that climbs out":       {[]tar.Header{{Name: "../evil"}}, "unpack ../evil: refused: the name leads out"},
		"an absolute name":             {[]tar.Header{{Name: "/evil"}}, "unpack /evil: refused: the name leads out"},
		"an absolute link":             {[]tar.Header{{Name: "a/l", Typeflag: tar.TypeSymlink, Linkname: "/etc"}}, "unpack a/l: refused: the link leads out of the repository, to /etc"},
		"a link that climbs out":       {[]tar.Header{{Name: "a/l", Typeflag: tar.TypeSymlink, Linkname: "../../x"}}, "unpack a/l: refused: the link leads out of the repository, to ../../x"},
		"a file through such links":    {[]tar.Header{{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "b/.."}, {Name: "a/../../evil"}}, "refused"},
		"a device":                     {[]tar.Header{{Name: "d", Typeflag: tar.TypeChar}}, "unpack d: refused: it is neither"},
		"a hard link":                  {[]tar.Header{{Name: "h", Typeflag: tar.TypeLink, Linkname: "a"}}, "unpack h: refused: it is neither"},
		"more bytes than the limit":    {[]tar.Header{{Name: "a"}, {Name: "b"}, {Name: "c"}}, "unpack c: refused: with it the checkout has more than 25 bytes"},
		"more files than the limit":    {[]tar.Header{{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "x"}, {Name: "b", Typeflag: tar.TypeSymlink, Linkname: "x"}, {Name: "c", Typeflag: tar.TypeSymlink, Linkname: "x"}, {Name: "d", Typeflag: tar.TypeSymlink, Linkname: "x"}}, "unpack d: refused: the checkout has more than 3 files"},
		"a name that is already there": {[]tar.Header{{Name: "a"}, {Name: "a"}}, "unpack a:"},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "tree")
			require.NoError(t, os.Mkdir(dir, 0o750))
			_, err := checkout.Unpack(dir, bytes.NewReader(archive(t, c.headers...)), checkout.Limits{Bytes: 25, Files: 3})
			require.ErrorContains(t, err, c.says)
			if strings.Contains(c.says, "refused") {
				require.ErrorIs(t, err, checkout.ErrRefused)
			}
			require.NoFileExists(t, filepath.Join(parent, "evil"))
		})
	}
}

func TestAFileThatIsCutShortIsNoCheckout(t *testing.T) {
	whole := archive(t, tar.Header{Name: "a"}, tar.Header{Name: "b"})
	_, err := checkout.Unpack(t.TempDir(), bytes.NewReader(whole[:515]), checkout.Limits{})
	require.Error(t, err)
}

func TestFilesFoldersLinksAndModesAreUnpacked(t *testing.T) {
	dir := t.TempDir()
	size, err := checkout.Unpack(dir, bytes.NewReader(archive(t,
		tar.Header{Name: "a/b/file"}, tar.Header{Name: "run", Mode: 0o755}, tar.Header{Name: "a/link", Typeflag: tar.TypeSymlink, Linkname: "../run"},
	)), checkout.Limits{})
	require.NoError(t, err)
	require.Equal(t, int64(20), size)
	content, err := os.ReadFile(filepath.Join(dir, "a/link"))
	require.NoError(t, err)
	require.Equal(t, "xxxxxxxxxx", string(content))
	info, err := os.Stat(filepath.Join(dir, "run"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode().Perm())
}

type store struct {
	archive []byte
	reads   atomic.Int32
}

func (s *store) fetch(context.Context, string) ([]byte, error) {
	s.reads.Add(1)
	return s.archive, nil
}

func TestACheckoutIsUnpackedOnce(t *testing.T) {
	s := &store{archive: archive(t, tar.Header{Name: "a"})}
	cache := checkout.Cache{Dir: filepath.Join(t.TempDir(), "cache")}
	for range 3 {
		tree, err := cache.Open(t.Context(), "checkout:1", s.fetch)
		require.NoError(t, err)
		require.FileExists(t, filepath.Join(tree.Dir, "a"))
		require.NoError(t, tree.Close())
	}
	require.Equal(t, int32(1), s.reads.Load())
}

func TestTheLeastRecentlyUsedGoesWhenThereIsNoRoom(t *testing.T) {
	s := &store{archive: archive(t, tar.Header{Name: "a"})} // 10 bytes
	cache := checkout.Cache{Dir: t.TempDir(), MaxBytes: 25}
	open := func(digest string) *checkout.Tree {
		tree, err := cache.Open(t.Context(), digest, s.fetch)
		require.NoError(t, err)
		return tree
	}
	first, second := open("checkout:1"), open("checkout:2")
	require.NoError(t, second.Close())
	require.NoError(t, open("checkout:3").Close())
	require.DirExists(t, first.Dir, "it is in use, though the oldest")
	require.NoError(t, first.Close())
	require.NoError(t, open("checkout:4").Close())
	require.NoDirExists(t, first.Dir)
	require.Equal(t, int32(4), s.reads.Load())
	require.NoError(t, open("checkout:4").Close())
	require.Equal(t, int32(4), s.reads.Load())
}

func TestManyWorkersThatShareAFolderGetWholeTrees(t *testing.T) {
	s := &store{archive: archive(t, tar.Header{Name: "a"}, tar.Header{Name: "b"})}
	dir := t.TempDir()
	var group errgroup.Group
	for worker := range 4 {
		cache := checkout.Cache{Dir: dir, MaxBytes: 45}
		group.Go(func() error {
			for i := range 40 {
				tree, err := cache.Open(t.Context(), "checkout:"+string(rune('a'+(worker+i)%5)), s.fetch)
				if err != nil {
					return err
				}
				_, missing := os.Stat(filepath.Join(tree.Dir, "b"))
				if err := errors.Join(missing, tree.Close()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
}

func TestWhatIsNoCheckoutUnderItsNameIsAnErrorThatNamesIt(t *testing.T) {
	s := &store{archive: archive(t, tar.Header{Name: "a"})}
	cache := checkout.Cache{Dir: t.TempDir()}
	require.NoError(t, os.MkdirAll(filepath.Join(cache.Dir, "checkout-1", "something"), 0o750))
	_, err := cache.Open(t.Context(), "checkout:1", s.fetch)
	require.ErrorContains(t, err, filepath.Join(cache.Dir, "checkout-1"))
}

func TestADigestCannotNameAnotherFolder(t *testing.T) {
	cache := checkout.Cache{Dir: t.TempDir()}
	for _, digest := range []string{"..", "../x", "a/b", ".", ""} {
		_, err := cache.Open(t.Context(), digest, (&store{}).fetch)
		require.ErrorContains(t, err, "that is no digest", digest)
	}
}

func TestARefusedArchiveLeavesNothing(t *testing.T) {
	cache := checkout.Cache{Dir: t.TempDir()}
	s := &store{archive: archive(t, tar.Header{Name: "a"}, tar.Header{Name: "../evil"})}
	_, err := cache.Open(t.Context(), "checkout:1", s.fetch)
	require.ErrorIs(t, err, checkout.ErrRefused)
	left, err := os.ReadDir(cache.Dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func FuzzUnpack(f *testing.F) {
	f.Add(archive(f, tar.Header{Name: "a/b"}, tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "a/b"}))
	f.Add(archive(f, tar.Header{Name: "../evil"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "tree")
		require.NoError(t, os.Mkdir(dir, 0o750))
		_, _ = checkout.Unpack(dir, bytes.NewReader(data), checkout.Limits{Bytes: 1 << 20, Files: 100})
		beside, err := os.ReadDir(parent)
		require.NoError(t, err)
		require.Len(t, beside, 1, "nothing is written outside of the folder")
	})
}
