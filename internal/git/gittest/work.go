package gittest

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/stretchr/testify/require"
)

// Write puts a file into the work tree, with its folders.
func (r *Repo) Write(name, content string) { r.put(name, content, 0o644) }

// WriteExecutable is Write with the executable bit.
func (r *Repo) WriteExecutable(name, content string) { r.put(name, content, 0o755) }

func (r *Repo) put(name, content string, mode fs.FileMode) {
	r.server.t.Helper()
	file := r.ready(name)
	require.NoError(r.server.t, os.WriteFile(file, []byte(content), mode))
	require.NoError(r.server.t, os.Chmod(file, mode)) // when it was there already
}

// Symlink puts a symbolic link into the work tree; the target may be anything.
func (r *Repo) Symlink(name, target string) {
	r.server.t.Helper()
	require.NoError(r.server.t, os.Symlink(target, r.ready(name)))
}

// Read returns a file of the work tree.
func (r *Repo) Read(name string) string {
	r.server.t.Helper()
	content, err := os.ReadFile(filepath.Join(r.Work, filepath.FromSlash(name)))
	require.NoError(r.server.t, err)
	return string(content)
}

// Remove deletes a file or folder of the work tree.
func (r *Repo) Remove(name string) {
	r.server.t.Helper()
	require.NoError(r.server.t, os.RemoveAll(filepath.Join(r.Work, filepath.FromSlash(name))))
}

// CopyTree copies all files of a folder, such as os.DirFS("testdata/shop"), to a
// place in the work tree; "" is its root.
func (r *Repo) CopyTree(from fs.FS, to string) {
	r.server.t.Helper()
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		r.put(path.Join(to, name), string(content), 0o644|info.Mode().Perm()&0o111)
		return nil
	})
	require.NoError(r.server.t, err)
}

// ready makes the folders of a file.
func (r *Repo) ready(name string) string {
	r.server.t.Helper()
	file := filepath.Join(r.Work, filepath.FromSlash(name))
	require.NoError(r.server.t, os.MkdirAll(filepath.Dir(file), 0o755))
	return file
}

// Commit records the work tree on the current branch, even when nothing changed,
// and returns the commit. It does not push.
func (r *Repo) Commit(message string) string {
	r.server.t.Helper()
	r.commits++
	r.Git("add", "-A")
	r.Git("commit", "-q", "--allow-empty", "-m", message)
	return r.Head()
}

// CommitFiles writes files (name → content) and commits them.
func (r *Repo) CommitFiles(files map[string]string, message string) string {
	r.server.t.Helper()
	for name, content := range files {
		r.Write(name, content)
	}
	return r.Commit(message)
}

// Head returns the work tree's present commit.
func (r *Repo) Head() string { return r.Git("rev-parse", "HEAD") }

// Branch switches the work tree to a branch, which it makes where there is none.
func (r *Repo) Branch(name string) {
	r.server.t.Helper()
	if r.Git("branch", "--list", name) == "" {
		r.Git("checkout", "-q", "-b", name)
		return
	}
	r.Git("checkout", "-q", name)
}

// Reset moves the work tree and its branch to a commit.
func (r *Repo) Reset(commit string) { r.Git("reset", "-q", "--hard", commit) }
