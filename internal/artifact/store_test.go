package artifact_test

import (
	"bytes"
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/tidegate/tidegate/internal/artifact"
	"github.com/tidegate/tidegate/internal/artifact/artifacttest"
)

func TestInMemory(t *testing.T) {
	artifacttest.Run(t, func(t *testing.T) *artifact.Store { return open(t, artifact.Options{URL: "mem://"}) })
}

func TestOnDisk(t *testing.T) {
	artifacttest.Run(t, func(t *testing.T) *artifact.Store { return open(t, artifact.Options{URL: fileURL(t)}) })
}

func TestWithoutCache(t *testing.T) {
	artifacttest.Run(t, func(t *testing.T) *artifact.Store {
		return open(t, artifact.Options{URL: fileURL(t), CacheBytes: 1})
	})
}

func open(t testing.TB, o artifact.Options) *artifact.Store {
	s, err := artifact.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func fileURL(t testing.TB) string { return "file://" + filepath.Join(t.TempDir(), "artifacts") }

func folderOf(url string) string { return strings.TrimPrefix(url, "file://") }

// files maps the path of every file below the store's folder to its content.
func files(t testing.TB, url string) map[string][]byte {
	found := map[string][]byte{}
	require.NoError(t, filepath.WalkDir(folderOf(url), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found[path], err = os.ReadFile(path)
		}
		return err
	}))
	return found
}

// blobFile is the only artifact's file.
func blobFile(t testing.TB, url string) string {
	var blobs []string
	for path := range files(t, url) {
		if strings.Contains(path, "/blobs/") {
			blobs = append(blobs, path)
		}
	}
	require.Len(t, blobs, 1)
	return blobs[0]
}

func TestNothingOnDiskIsReadableOrLeftOver(t *testing.T) {
	url := fileURL(t)
	s := open(t, artifact.Options{URL: url})
	secret := strings.Repeat("password: hunter2 ", 10)
	_, err := s.Put(t.Context(), "bundle", []byte(secret))
	require.NoError(t, err)
	require.NoError(t, s.SetNamed(t.Context(), "checkpoint/a", []byte(secret)))
	found := files(t, url)
	require.Len(t, found, 3, "marker, artifact, named object")
	for path, content := range found {
		require.NotContains(t, string(content), "hunter2", path)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), path)
	}
	info, err := os.Stat(folderOf(url))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
}

func TestAnotherProcessSeesTheSame(t *testing.T) {
	url := fileURL(t)
	one, other := open(t, artifact.Options{URL: url}), open(t, artifact.Options{URL: url})
	d, err := one.Put(t.Context(), "bundle", []byte("x"))
	require.NoError(t, err)
	got, err := other.Get(t.Context(), d)
	require.NoError(t, err)
	require.Equal(t, "x", string(got))
	same, err := other.Put(t.Context(), "bundle", []byte("x"))
	require.NoError(t, err)
	require.Equal(t, d, same)
	require.Equal(t, one.MAC("a", nil), other.MAC("a", nil))
}

func TestChangedBytesAreRefusedAndNamed(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"one bit":   func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"version":   func(b []byte) []byte { b[0]++; return b },
		"cut short": func(b []byte) []byte { return b[:len(b)-1] },
		"stub":      func(b []byte) []byte { return b[:1] },
		"empty":     func([]byte) []byte { return nil },
		"longer":    func(b []byte) []byte { return append(b, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			url := fileURL(t)
			s := open(t, artifact.Options{URL: url})
			d, err := s.Put(t.Context(), "bundle", []byte("kind: ConfigMap"))
			require.NoError(t, err)
			path := blobFile(t, url)
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, change(content), 0o600))

			_, err = s.Get(t.Context(), d)
			require.ErrorIs(t, err, artifact.ErrDamaged)
			require.ErrorContains(t, err, string(d))

			_, err = s.Put(t.Context(), "bundle", []byte("kind: ConfigMap"))
			require.NoError(t, err)
			got, err := s.Get(t.Context(), d)
			require.NoError(t, err, "putting it again repairs it")
			require.Equal(t, "kind: ConfigMap", string(got))
		})
	}
}

func TestAnotherProcessRepairsWhatAPowerCutLeftEmpty(t *testing.T) {
	url := fileURL(t)
	d, err := open(t, artifact.Options{URL: url, Sync: true}).Put(t.Context(), "bundle", []byte("x"))
	require.NoError(t, err)
	require.NoError(t, os.Truncate(blobFile(t, url), 0))
	s := open(t, artifact.Options{URL: url})
	_, err = s.Put(t.Context(), "bundle", []byte("x"))
	require.NoError(t, err)
	_, err = s.Get(t.Context(), d)
	require.NoError(t, err)
}

func TestAnObjectMovedToAnotherNameIsRefused(t *testing.T) {
	url := fileURL(t)
	s := open(t, artifact.Options{URL: url})
	require.NoError(t, s.SetNamed(t.Context(), "a", []byte("of a")))
	require.NoError(t, s.SetNamed(t.Context(), "b", []byte("of b")))
	named := filepath.Join(folderOf(url), "named")
	require.NoError(t, os.Rename(filepath.Join(named, "a="), filepath.Join(named, "b=")))
	_, err := s.GetNamed(t.Context(), "b")
	require.ErrorIs(t, err, artifact.ErrDamaged)
}

func TestGetReadsOnceAndForgetsBeyondItsLimit(t *testing.T) {
	url := fileURL(t)
	s := open(t, artifact.Options{URL: url, CacheBytes: 100})
	small, err := s.Put(t.Context(), "small", make([]byte, 60))
	require.NoError(t, err)
	_, err = s.Get(t.Context(), small)
	require.NoError(t, err)
	require.NoError(t, os.Remove(blobFile(t, url)))
	_, err = s.Get(t.Context(), small)
	require.NoError(t, err, "from memory")

	big, err := s.Put(t.Context(), "big", make([]byte, 70))
	require.NoError(t, err)
	_, err = s.Get(t.Context(), big)
	require.NoError(t, err)
	_, err = s.Get(t.Context(), small)
	require.ErrorIs(t, err, artifact.ErrNotFound, "60 + 70 > 100")
}

func TestAnInterruptedPutLeavesNothing(t *testing.T) {
	url := fileURL(t)
	s := open(t, artifact.Options{URL: url})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Put(ctx, "bundle", []byte("x"))
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, files(t, url), 1, "the marker")
}

func TestContentOverTheLimitIsRefused(t *testing.T) {
	s := open(t, artifact.Options{URL: "mem://", MaxBytes: 100})
	_, err := s.Put(t.Context(), "bundle", make([]byte, 101))
	require.ErrorIs(t, err, artifact.ErrTooLarge)
	require.ErrorIs(t, s.SetNamed(t.Context(), "a", make([]byte, 101)), artifact.ErrTooLarge)
	d, err := s.Put(t.Context(), "bundle", make([]byte, 100))
	require.NoError(t, err)
	_, err = s.Get(t.Context(), d)
	require.NoError(t, err)
}

// clock is a time that a test sets. Files have the real time, so it starts from there.
type clock struct{ offset time.Duration }

func (c *clock) now() time.Time { return time.Now().Add(c.offset) }

func TestSweepTakesWhatIsOldAndUnwanted(t *testing.T) {
	url := fileURL(t)
	var c clock
	s := open(t, artifact.Options{URL: url, Now: c.now, CacheBytes: 1})
	put := func(data string) artifact.Digest {
		d, err := s.Put(t.Context(), "bundle", []byte(data))
		require.NoError(t, err)
		return d
	}
	wanted, unwanted, putAgain := put("wanted"), put("unwanted"), put("put again")
	require.NoError(t, s.SetNamed(t.Context(), "checkpoint/a", nil))
	remains := filepath.Join(folderOf(url), "blobs", "bundle", "00.18abc.tmp")
	require.NoError(t, os.WriteFile(remains, []byte("half"), 0o600))
	keep := func(d artifact.Digest) bool { return d == wanted }

	swept, err := s.Sweep(t.Context(), 3*time.Hour, keep)
	require.NoError(t, err)
	require.Zero(t, swept, "nothing is old")

	for path := range files(t, url) {
		require.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(-5*time.Hour)))
	}
	c.offset = time.Hour // what this process knows has grown old as well
	require.Equal(t, putAgain, put("put again"))

	swept, err = s.Sweep(t.Context(), 3*time.Hour, keep)
	require.NoError(t, err)
	require.Equal(t, 2, swept.Objects)
	require.Positive(t, swept.Bytes)
	require.NoFileExists(t, remains)
	for _, d := range []artifact.Digest{wanted, putAgain} {
		_, err = s.Get(t.Context(), d)
		require.NoError(t, err)
	}
	_, err = s.Get(t.Context(), unwanted)
	require.ErrorIs(t, err, artifact.ErrNotFound)
	_, err = s.GetNamed(t.Context(), "checkpoint/a")
	require.NoError(t, err)
	require.Equal(t, unwanted, put("unwanted"))
	_, err = s.Get(t.Context(), unwanted)
	require.NoError(t, err, "what was swept can be put again")

	_, err = s.Sweep(t.Context(), time.Minute, keep)
	require.ErrorContains(t, err, "too short")
}

func TestManyProcessesWriteAndReadAtOnce(t *testing.T) {
	url := fileURL(t)
	var group errgroup.Group
	for i := range 8 {
		s := open(t, artifact.Options{URL: url, CacheBytes: 1})
		group.Go(func() error {
			for n := range 20 {
				d, err := s.Put(t.Context(), "bundle", bytes.Repeat([]byte{byte(n)}, 10_000))
				if err == nil {
					_, err = s.Get(t.Context(), d)
				}
				if err == nil {
					err = s.SetNamed(t.Context(), "shared", bytes.Repeat([]byte{byte(i)}, 10_000))
				}
				if err == nil {
					_, err = s.GetNamed(t.Context(), "shared")
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Len(t, files(t, url), 1+20+1)
}

func FuzzNames(f *testing.F) {
	for _, name := range []string{"a/b", "..", "__0x2f__", "%2f", "A//=+", "\xff"} {
		f.Add(name, name)
	}
	s := open(f, artifact.Options{URL: "mem://"})
	f.Fuzz(func(t *testing.T, a, b string) {
		if s.SetNamed(t.Context(), a, []byte(a)) != nil || s.SetNamed(t.Context(), b, []byte(b)) != nil {
			t.Skip("empty or too long")
		}
		got, err := s.GetNamed(t.Context(), a)
		require.NoError(t, err)
		require.Equal(t, a, string(got), "no two names are one object")
		listed, err := s.ListNamed(t.Context(), a)
		require.NoError(t, err)
		require.Contains(t, listed, a)
		require.NoError(t, s.DeleteNamed(t.Context(), a))
		require.NoError(t, s.DeleteNamed(t.Context(), b))
	})
}

// manifest is text that compresses about as well as rendered YAML does.
func manifest(size int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("apiVersion: apps/v1 kind: Deployment metadata: name: labels: app spec: replicas: template: containers: image: ports: env: value:")
	var b bytes.Buffer
	for b.Len() < size {
		b.WriteString(words[r.IntN(len(words))] + " ")
		if r.IntN(4) == 0 {
			b.WriteString(string(rune('a'+r.IntN(26))) + "\n  ")
		}
	}
	return b.Bytes()[:size]
}

func BenchmarkPut(b *testing.B) {
	for name, sync := range map[string]bool{"new": false, "new and on disk": true} {
		b.Run(name, func(b *testing.B) {
			s := open(b, artifact.Options{URL: fileURL(b), Sync: sync})
			data := manifest(100_000)
			b.SetBytes(int64(len(data)))
			for i := 0; b.Loop(); i++ {
				copy(data, []byte{byte(i), byte(i >> 8), byte(i >> 16)})
				_, err := s.Put(b.Context(), "bundle", data)
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkPutStored(b *testing.B) {
	s := open(b, artifact.Options{URL: fileURL(b)})
	data := manifest(100_000)
	for b.Loop() {
		_, err := s.Put(b.Context(), "bundle", data)
		require.NoError(b, err)
	}
}

func BenchmarkGet(b *testing.B) {
	for name, cache := range map[string]int64{"read": 1, "cached": 0} {
		b.Run(name, func(b *testing.B) {
			s := open(b, artifact.Options{URL: fileURL(b), CacheBytes: cache})
			d, err := s.Put(b.Context(), "bundle", manifest(100_000))
			require.NoError(b, err)
			b.SetBytes(100_000)
			for b.Loop() {
				_, err := s.Get(b.Context(), d)
				require.NoError(b, err)
			}
		})
	}
}
