// Package artifacttest is what every artifact store must do, whatever bucket it stands on.
package artifacttest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/tidegate/tidegate/internal/artifact"
)

// Run tests the stores that open makes. It is called once per test and must return an empty store, which it closes
// itself when the test ends.
func Run(t *testing.T, open func(t *testing.T) *artifact.Store) {
	for name, test := range map[string]func(*testing.T, *artifact.Store){
		"what was put is what one gets":                   roundTrip,
		"equal content of one kind has one digest":        digests,
		"an unknown digest is not found and is named":     unknownDigest,
		"a malformed digest or kind is refused":           malformed,
		"a caller may change what it got":                 callersOwnTheirCopy,
		"many may put and get the same at once":           concurrentPuts,
		"JSON goes in and comes out":                      jsonRoundTrip,
		"named objects are replaced as a whole":           namedReplace,
		"a name may hold any characters":                  namedAnything,
		"names are listed by prefix":                      namedList,
		"a deleted name is gone and may be deleted again": namedDelete,
		"a keyed digest depends on label and data":        macs,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func roundTrip(t *testing.T, s *artifact.Store) {
	noise := make([]byte, 3<<20)
	_, err := rand.Read(noise)
	require.NoError(t, err)
	for _, data := range [][]byte{{}, []byte("a"), noise, bytes.Repeat([]byte("kind: ConfigMap\n"), 1<<16)} {
		d, err := s.Put(t.Context(), "bundle", data)
		require.NoError(t, err)
		got, err := s.Get(t.Context(), d)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, got), "%d bytes went in, %d came out", len(data), len(got))
	}
}

func digests(t *testing.T, s *artifact.Store) {
	put := func(kind, data string) artifact.Digest {
		d, err := s.Put(t.Context(), kind, []byte(data))
		require.NoError(t, err)
		require.Equal(t, kind, d.Kind())
		parsed, err := artifact.ParseDigest(string(d))
		require.NoError(t, err)
		require.Equal(t, d, parsed)
		return d
	}
	require.Equal(t, put("plan", "x"), put("plan", "x"))
	require.NotEqual(t, put("plan", "x"), put("plan", "y"))
	sum := func(d artifact.Digest) string { return strings.TrimPrefix(string(d), d.Kind()+":") }
	require.NotEqual(t, sum(put("plan", "x")), sum(put("record", "x")))
}

func unknownDigest(t *testing.T, s *artifact.Store) {
	d := "bundle:" + strings.Repeat("0a", 32)
	_, err := s.Get(t.Context(), artifact.Digest(d))
	require.ErrorIs(t, err, artifact.ErrNotFound)
	require.ErrorContains(t, err, d)
}

func malformed(t *testing.T, s *artifact.Store) {
	sum := strings.Repeat("0a", 32)
	for _, d := range []string{
		"", sum, "bundle:", "bundle:0a", ":" + sum, "Bundle:" + sum, "bundle:" + strings.ToUpper(sum), "../bundle:" + sum, "bundle:../" + sum[3:],
	} {
		_, err := s.Get(t.Context(), artifact.Digest(d))
		require.ErrorContains(t, err, "64 hex digits", "digest %q", d)
	}
	for _, kind := range []string{"", "Bundle", "a/b", "..", "-a", "1a", "a:b", strings.Repeat("a", 33)} {
		_, err := s.Put(t.Context(), kind, nil)
		require.ErrorContains(t, err, "kind", "kind %q", kind)
	}
}

func callersOwnTheirCopy(t *testing.T, s *artifact.Store) {
	d, err := s.Put(t.Context(), "bundle", []byte("original"))
	require.NoError(t, err)
	for range 2 { // read, then from the cache
		got, err := s.Get(t.Context(), d)
		require.NoError(t, err)
		require.Equal(t, "original", string(got))
		copy(got, "CHANGED!")
	}
}

func concurrentPuts(t *testing.T, s *artifact.Store) {
	data := bytes.Repeat([]byte("the same for everyone "), 5000)
	group, ctx := errgroup.WithContext(t.Context())
	for range 16 {
		group.Go(func() error { return putAndGet(ctx, s, data) })
	}
	require.NoError(t, group.Wait())
}

func putAndGet(ctx context.Context, s *artifact.Store, data []byte) error {
	d, err := s.Put(ctx, "bundle", data)
	if err != nil {
		return err
	}
	got, err := s.Get(ctx, d)
	if err == nil && !bytes.Equal(got, data) {
		return errors.New("got other bytes than were put")
	}
	return err
}

func jsonRoundTrip(t *testing.T, s *artifact.Store) {
	type plan struct {
		Waves map[string][]int
	}
	want := plan{Waves: map[string][]int{"sync": {0, 1, 5}}}
	d, err := s.PutJSON(t.Context(), "plan", want)
	require.NoError(t, err)
	var got plan
	require.NoError(t, s.GetJSON(t.Context(), d, &got))
	require.Equal(t, want, got)
	require.ErrorContains(t, s.GetJSON(t.Context(), d, new(int)), string(d))
	_, err = s.PutJSON(t.Context(), "plan", func() {})
	require.ErrorContains(t, err, "plan")
}

func namedReplace(t *testing.T, s *artifact.Store) {
	_, err := s.GetNamed(t.Context(), "checkpoint/a")
	require.ErrorIs(t, err, artifact.ErrNotFound)
	require.ErrorContains(t, err, "checkpoint/a")
	for _, data := range []string{"a long first version", "second", ""} {
		require.NoError(t, s.SetNamed(t.Context(), "checkpoint/a", []byte(data)))
		got, err := s.GetNamed(t.Context(), "checkpoint/a")
		require.NoError(t, err)
		require.Equal(t, data, string(got))
	}
}

// names are every way in which a name could be mistaken for a path, for an escape, or for another name.
var names = []string{
	"a", "a/b", "a/b/c", "A", "a=", "a+", "a+/b", "a%", "a%2fb", "/", "//", "/a", "a/", "a//b", ".", "..", "../../etc/passwd", "a/../b", "a..", "a../b", ".attrs",
	"a.attrs", "a.tmp", "__0x2f__", "a__0x2f__b", "index/git.example.com:7999/acme/fleet/refs/heads/feature/ÄÖ ü\x00\n\xff", `c:\x`, "*?<>|\"'", "~",
	strings.Repeat("long", 200),
}

func namedAnything(t *testing.T, s *artifact.Store) {
	for _, name := range names {
		require.NoError(t, s.SetNamed(t.Context(), name, []byte("content of "+name)), "set %q", name)
	}
	for _, name := range names {
		got, err := s.GetNamed(t.Context(), name)
		require.NoError(t, err, "get %q", name)
		require.Equal(t, "content of "+name, string(got))
	}
	listed, err := s.ListNamed(t.Context(), "")
	require.NoError(t, err)
	require.ElementsMatch(t, names, listed)
	require.ErrorContains(t, s.SetNamed(t.Context(), "", nil), "name")
	require.ErrorContains(t, s.SetNamed(t.Context(), strings.Repeat("x", 2000), nil), "too long")
}

func namedList(t *testing.T, s *artifact.Store) {
	for _, name := range names {
		require.NoError(t, s.SetNamed(t.Context(), name, nil), "set %q", name)
	}
	for _, prefix := range append([]string{"nothing", "longlong", "index/git.example.com:7999/acme/f"}, names...) {
		var want []string
		for _, name := range names {
			if strings.HasPrefix(name, prefix) {
				want = append(want, name)
			}
		}
		got, err := s.ListNamed(t.Context(), prefix)
		require.NoError(t, err)
		require.ElementsMatch(t, want, got, "prefix %q", prefix)
		require.IsIncreasing(t, append([]string{""}, got...), "prefix %q", prefix)
	}
}

func namedDelete(t *testing.T, s *artifact.Store) {
	require.NoError(t, s.SetNamed(t.Context(), "checkpoint/a", []byte("x")))
	require.NoError(t, s.DeleteNamed(t.Context(), "checkpoint/a"))
	require.NoError(t, s.DeleteNamed(t.Context(), "checkpoint/a"))
	_, err := s.GetNamed(t.Context(), "checkpoint/a")
	require.ErrorIs(t, err, artifact.ErrNotFound)
	listed, err := s.ListNamed(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, listed)
}

func macs(t *testing.T, s *artifact.Store) {
	require.Equal(t, s.MAC("desired", []byte("x")), s.MAC("desired", []byte("x")))
	require.Len(t, s.MAC("desired", nil), 64)
	require.NotEqual(t, s.MAC("desired", []byte("x")), s.MAC("desired", []byte("y")))
	require.NotEqual(t, s.MAC("desired", []byte("x")), s.MAC("owned", []byte("x")))
	require.NotEqual(t, s.MAC("ab", []byte("c")), s.MAC("a", []byte("bc")))
}
