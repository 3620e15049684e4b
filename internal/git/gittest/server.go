package gittest

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Server serves the repositories in Dir over smart HTTP, reading and pushing,
// until the test ends.
type Server struct {
	URL string // of the server; a repository is at URL/name.git
	Dir string // what a file:// root would be

	t       testing.TB
	backend string

	mu        sync.Mutex
	repos     map[string]*Repo
	user      string
	password  string
	intercept func(http.ResponseWriter, *http.Request) bool
	requests  []string
}

// NewServer starts a server on a loopback port, open to everybody.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, Dir: t.TempDir(), repos: map[string]*Repo{}}
	out, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	require.NoError(t, err, "gittest needs git")
	s.backend = filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	s.URL = web.URL
	return s
}

// RequirePassword closes the server to everybody else from now on; pushes of the
// test's own work trees still succeed. An empty user opens it again.
func (s *Server) RequirePassword(user, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user, s.password = user, password
}

// Intercept lets a function answer requests first; it returns whether it did.
// Nil ends that. It is how a test makes a server slow, broken or malicious.
func (s *Server) Intercept(answer func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intercept = answer
}

// Requests returns the requests since the last call, as "GET /shop.git/info/refs".
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.requests
	s.requests = nil
	return all
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	user, password, intercept := s.user, s.password, s.intercept
	s.mu.Unlock()
	if intercept != nil && intercept(w, r) {
		return
	}
	if u, p, _ := r.BasicAuth(); user != "" && (u != user || p != password) {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git")
	s.mu.Lock()
	repo := s.repos[name]
	s.mu.Unlock()
	if repo == nil {
		http.NotFound(w, r)
		return
	}
	repo.aroundPush(r, func() { s.cgi().ServeHTTP(w, r) })
}

func (s *Server) cgi() *cgi.Handler {
	return &cgi.Handler{
		Path: s.backend, Dir: s.Dir, Stderr: os.Stderr,
		Env: append(environment(), "GIT_PROJECT_ROOT="+s.Dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=test"),
	}
}

// environment keeps the machine's own git settings out of the test.
func environment() []string {
	env := []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", "TZ=UTC",
		"GIT_AUTHOR_NAME=gittest", "GIT_AUTHOR_EMAIL=gittest@example.com",
		"GIT_COMMITTER_NAME=gittest", "GIT_COMMITTER_EMAIL=gittest@example.com",
	}
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "GIT_") {
			env = append(env, pair)
		}
	}
	return env
}
