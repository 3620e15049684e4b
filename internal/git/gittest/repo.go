package gittest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
)

// Repo is a bare repository on the server, and a work tree that pushes to it.
// Its methods are for the test's own goroutine.
type Repo struct {
	Name    string
	URL     string // http://127.0.0.1:port/name.git
	FileURL string // file:///.../name.git
	Dir     string // the bare repository
	Work    string // the work tree

	server  *Server
	commits int // counted for their time

	mu     sync.Mutex
	onPush []func(Push)
}

// NewRepo makes an empty repository whose default branch is main. The name may
// have slashes: org/shop.
func (s *Server) NewRepo(name string) *Repo {
	s.t.Helper()
	r := &Repo{
		Name: name, URL: s.URL + "/" + name + ".git", Dir: filepath.Join(s.Dir, filepath.FromSlash(name)+".git"),
		Work: s.t.TempDir(), server: s,
	}
	r.FileURL = (&url.URL{Scheme: "file", Path: filepath.ToSlash(r.Dir)}).String()
	r.git(s.Dir, "init", "-q", "--bare", "--template=", "-b", "main", r.Dir)
	r.appendConfig(filepath.Join(r.Dir, "config"), "[http]\n\treceivepack = true\n[gc]\n\tauto = 0\n")
	r.git(r.Work, "init", "-q", "--template=", "-b", "main", ".")
	r.appendConfig(filepath.Join(r.Work, ".git", "config"), "[gc]\n\tauto = 0\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repos[name] = r
	return r
}

// appendConfig saves the processes that git config would take.
func (r *Repo) appendConfig(file, text string) {
	r.server.t.Helper()
	config, err := os.ReadFile(file)
	require.NoError(r.server.t, err)
	require.NoError(r.server.t, os.WriteFile(file, append(config, text...), 0o600))
}

// Config sets a git setting of the bare repository, such as
// uploadpack.allowReachableSHA1InWant.
func (r *Repo) Config(key, value string) { r.git(r.Dir, "config", key, value) }

// Git runs git in the work tree and returns what it prints, without the last
// line break. It ends the test when git fails.
func (r *Repo) Git(args ...string) string { return r.git(r.Work, args...) }

// ServerGit is Git in the bare repository.
func (r *Repo) ServerGit(args ...string) string { return r.git(r.Dir, args...) }

func (r *Repo) git(dir string, args ...string) string {
	t := r.server.t
	t.Helper()
	// Each commit is a minute after the one before: no two are alike by chance.
	date := fmt.Sprintf("2024-01-01T%02d:%02d:00Z", r.commits/60%24, r.commits%60)
	out, err := run(t.Context(), dir, []string{"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date}, args...)
	require.NoError(t, err, out)
	return out
}

// run may be called from any goroutine.
func run(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, append(environment(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// pushURL carries the password while one is required.
func (r *Repo) pushURL() string {
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	u, err := url.Parse(r.URL)
	require.NoError(r.server.t, err)
	if r.server.user != "" {
		u.User = url.UserPassword(r.server.user, r.server.password)
	}
	return u.String()
}
