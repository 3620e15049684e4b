package gittest

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gliderlabs/ssh"
	"github.com/stretchr/testify/require"
	cryptossh "golang.org/x/crypto/ssh"
)

// SSH is how the repositories of a Server are read over ssh.
type SSH struct {
	URL        string // of the server: ssh://git@127.0.0.1:port
	KeyFile    string // that it takes
	KnownHosts string // a file with its key
	OtherKey   string // a key file that it does not take
	WrongHosts string // a known_hosts file with another key for it
}

// ServeSSH lets the repositories be read over ssh until the test ends.
func (s *Server) ServeSSH() SSH {
	s.t.Helper()
	dir := s.t.TempDir()
	host, client := newKey(s, filepath.Join(dir, "host")), newKey(s, filepath.Join(dir, "client"))
	other := newKey(s, filepath.Join(dir, "other"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(s.t, err)
	server := &ssh.Server{
		Handler:          s.uploadPack,
		PublicKeyHandler: func(_ ssh.Context, key ssh.PublicKey) bool { return ssh.KeysEqual(key, client.PublicKey()) },
	}
	server.AddHostKey(host)
	go func() { _ = server.Serve(listener) }()
	s.t.Cleanup(func() { _ = server.Close() })
	known := func(name string, key cryptossh.PublicKey) string {
		host, port, err := net.SplitHostPort(listener.Addr().String())
		require.NoError(s.t, err)
		path := filepath.Join(dir, name)
		require.NoError(s.t, os.WriteFile(path, fmt.Appendf(nil, "[%s]:%s %s", host, port, cryptossh.MarshalAuthorizedKey(key)), 0o600))
		return path
	}
	return SSH{
		URL: "ssh://git@" + listener.Addr().String(), KeyFile: filepath.Join(dir, "client"), OtherKey: filepath.Join(dir, "other"),
		KnownHosts: known("known", host.PublicKey()), WrongHosts: known("wrong", other.PublicKey()),
	}
}

// uploadPack runs git's own program, for the one command that reading takes.
func (s *Server) uploadPack(session ssh.Session) {
	args := session.Command()
	name := ""
	if len(args) == 2 && args[0] == "git-upload-pack" {
		name = strings.TrimSuffix(strings.Trim(args[1], "/"), ".git")
	}
	s.mu.Lock()
	repo := s.repos[name]
	s.mu.Unlock()
	if repo == nil {
		_, _ = fmt.Fprintf(session.Stderr(), "there is no repository for %q\n", args)
		_ = session.Exit(128)
		return
	}
	cmd := exec.CommandContext(context.WithoutCancel(session.Context()), "git", "upload-pack", repo.Dir)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environment(), session, session, session.Stderr()
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		_ = session.Exit(ended.ExitCode())
	case err != nil:
		_ = session.Exit(1)
	default:
		_ = session.Exit(0)
	}
}

func newKey(s *Server, file string) cryptossh.Signer {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(s.t, err)
	block, err := cryptossh.MarshalPrivateKey(key, "")
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	signer, err := cryptossh.NewSignerFromKey(key)
	require.NoError(s.t, err)
	return signer
}
