package git_test

import (
	"archive/tar"
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidegate/tidegate/internal/git"
)

// exported returns name → content, with " (mode)" after executables and
// "-> target" as the content of links.
func exported(t *testing.T, m *git.Mirrors, url, commit, folder string) map[string]string {
	t.Helper()
	var out bytes.Buffer
	_, err := m.Export(t.Context(), &out, url, commit, folder)
	require.NoError(t, err)
	return untar(t, &out)
}

func untar(t *testing.T, from io.Reader) map[string]string {
	t.Helper()
	files := map[string]string{}
	for in := tar.NewReader(from); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		require.Zero(t, header.ModTime.Unix())
		content, err := io.ReadAll(in)
		require.NoError(t, err)
		switch {
		case header.Typeflag == tar.TypeSymlink:
			files[header.Name] = "-> " + header.Linkname
		case header.Mode == 0o755:
			files[header.Name] = string(content) + " (executable)"
		default:
			require.EqualValues(t, 0o644, header.Mode)
			files[header.Name] = string(content)
		}
	}
}

func TestExportHoldsTheFolderAndNothingElse(t *testing.T) {
	overBoth(t, func(t *testing.T, f fixture, url string) {
		f.repo.Write("apps/shop/deploy.yaml", "kind: Deployment")
		f.repo.WriteExecutable("apps/shop/bin/run", "#!/bin/sh")
		f.repo.Symlink("apps/shop/latest.yaml", "bin/../deploy.yaml")
		f.repo.Write("README.md", "hello")
		sha := f.repo.CommitAndPush("first")
		require.Equal(t, map[string]string{
			"deploy.yaml": "kind: Deployment", "bin/run": "#!/bin/sh (executable)", "latest.yaml": "-> bin/../deploy.yaml",
		}, exported(t, f.mirrors, url, sha, "apps/shop"))
		require.Equal(t, map[string]string{"README.md": "hello"}, exported(t, f.mirrors, url, sha, "README.md"))
		require.Len(t, exported(t, f.mirrors, url, sha, ""), 4)

		_, err := f.mirrors.Export(t.Context(), io.Discard, url, sha, "apps/shopp")
		require.ErrorIs(t, err, git.KindPath)
	})
}

func TestTheSameTreeExportsToTheSameBytes(t *testing.T) {
	f := newFixture(t)
	f.repo.Write("app/a-b", "1")
	f.repo.Write("app/a/b", "2")
	f.repo.Symlink("app/z", "a/b")
	first := f.repo.CommitAndPush("first")
	f.repo.Write("other", "3")
	second := f.repo.CommitAndPush("second")
	var one, two bytes.Buffer
	x, err := f.mirrors.Export(t.Context(), &one, f.repo.URL, first, "app")
	require.NoError(t, err)
	y, err := f.mirrors.Export(t.Context(), &two, f.repo.FileURL, second, "app")
	require.NoError(t, err)
	require.Equal(t, one.Bytes(), two.Bytes())
	require.Equal(t, x, y)
	require.Equal(t, git.Exported{Tree: f.repo.Git("rev-parse", "HEAD:app"), Files: 3, Bytes: 5}, x)
}

func TestALinkThatLeavesTheFolderIsRefused(t *testing.T) {
	for name, links := range map[string]map[string]string{
		"absolute":             {"app/bad": "/etc/passwd"},
		"upwards":              {"app/bad": "../secret"},
		"upwards by a detour":  {"app/bad": "x/y/../../../secret"},
		"through another link": {"app/here": ".", "app/bad": "here/../secret"},
		"through two links":    {"app/d/up": "..", "app/bad": "d/up/../secret"},
		"around in a circle":   {"app/bad": "bad2", "app/bad2": "bad"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.repo.Write("secret", "s")
			f.repo.Write("app/x/y/z", "1")
			for from, to := range links {
				f.repo.Symlink(from, to)
			}
			sha := f.repo.CommitAndPush("first")
			var out bytes.Buffer
			_, err := f.mirrors.Export(t.Context(), &out, f.repo.URL, sha, "app")
			require.ErrorIs(t, err, git.KindContent)
			require.ErrorContains(t, err, "app/bad")
			require.Zero(t, out.Len(), "nothing is written of a folder that is refused")
		})
	}
}

func TestALinkThatStaysInsideIsKept(t *testing.T) {
	f := newFixture(t)
	f.repo.Write("app/x/y/z", "1")
	for from, to := range map[string]string{
		"app/ok1": "x/y/z", "app/x/ok2": "../x/y", "app/x/y/ok3": "../../ok1", "app/ok4": "missing/file", "app/ok5": "x/ok2/../y",
	} {
		f.repo.Symlink(from, to)
	}
	sha := f.repo.CommitAndPush("first")
	require.Equal(t, "-> x/ok2/../y", exported(t, f.mirrors, f.repo.URL, sha, "app")["ok5"])
	require.Len(t, exported(t, f.mirrors, f.repo.URL, sha, "app"), 6)
}

func TestAFolderAboveTheLimitIsRefused(t *testing.T) {
	f := newFixture(t, func(o *git.Options) { o.ExportLimit = 1000 })
	f.repo.Write("small", "1")
	f.repo.Write("big", strings.Repeat("x", 1000))
	sha := f.repo.CommitAndPush("first")
	_, err := f.mirrors.Export(t.Context(), io.Discard, f.repo.URL, sha, "")
	require.ErrorIs(t, err, git.KindContent)
	require.ErrorContains(t, err, "git.exportLimit")
}

func TestSubmodulesAreLeftOutAndNamed(t *testing.T) {
	overBoth(t, func(t *testing.T, f fixture, url string) {
		f.repo.Write("a", "1")
		f.repo.Commit("first")
		f.repo.Git("update-index", "--add", "--cacheinfo", "160000,"+sha("5")+",vendor/lib")
		f.repo.Git("commit", "-q", "-m", "submodule")
		head := f.repo.Head()
		f.repo.Push("main")
		var out bytes.Buffer
		done, err := f.mirrors.Export(t.Context(), &out, url, head, "")
		require.NoError(t, err)
		require.Equal(t, []string{"vendor/lib"}, done.Submodules)
		require.Equal(t, map[string]string{"a": "1"}, untar(t, &out))
	})
}

func TestATreeWithAnImpossibleNameIsRefused(t *testing.T) {
	for _, name := range []string{"..", ".git", "."} {
		f := newFixture(t)
		f.repo.Write("a", "1")
		f.repo.CommitAndPush("first")
		blob := f.repo.Git("rev-parse", "HEAD:a")
		raw := filepath.Join(t.TempDir(), "tree")
		require.NoError(t, writeTree(raw, "100644", name, blob))
		tree := f.repo.ServerGit("hash-object", "-t", "tree", "--literally", "-w", raw)
		evil := f.repo.ServerGit("commit-tree", "-m", "evil", tree)
		f.repo.ServerGit("update-ref", "refs/heads/evil", evil)
		_, err := f.mirrors.Export(t.Context(), io.Discard, f.repo.URL, evil, "")
		require.ErrorIs(t, err, git.KindContent, name)
	}
}

func TestAReaderThatStopsIsNotTakenForDamage(t *testing.T) {
	f := newFixture(t)
	f.repo.Write("a", "1")
	sha := f.repo.CommitAndPush("first")
	require.NoError(t, f.mirrors.Fetch(t.Context(), f.repo.URL, git.Head{Commit: sha}))
	f.server.Requests()
	in, out := io.Pipe()
	require.NoError(t, in.Close())
	_, err := f.mirrors.Export(t.Context(), out, f.repo.URL, sha, "")
	require.ErrorIs(t, err, io.ErrClosedPipe)
	require.Empty(t, f.server.Requests())
}

// writeTree writes a tree object's bytes with one entry, whatever its name.
func writeTree(file, mode, name, hash string) error {
	id, err := hex.DecodeString(hash)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte(mode+" "+name+"\x00"), id...), 0o600)
}
