package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/git"
	"github.com/tidegate/tidegate/internal/git/gittest"
)

// run runs a program that a test is no test without.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("there is no %s to sign with", name)
	}
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

// signed makes commits and says who has signed them.
type signed struct {
	repo    *gittest.Repo
	mirrors *git.Mirrors
	commits int
}

func newSigned(t *testing.T) *signed {
	t.Helper()
	m, err := git.New(git.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	return &signed{repo: gittest.NewServer(t).NewRepo("shop"), mirrors: m}
}

// commit makes a commit with git itself, by a key or unsigned.
func (s *signed) commit(t *testing.T, args ...string) string {
	t.Helper()
	s.commits++
	s.repo.Write("a.yaml", strings.Repeat("a", s.commits))
	s.repo.Git("add", ".")
	s.repo.Git(append(args, "commit", "-q", "-m", "a commit")...)
	s.repo.Push("main")
	return s.repo.Head()
}

func (s *signed) verify(t *testing.T, commit string, files ...string) (string, error) {
	t.Helper()
	signers, err := git.ReadSigners(files...)
	require.NoError(t, err)
	return s.mirrors.Verify(t.Context(), s.repo.URL, commit, signers)
}

func TestCommitsSignedBySSHKeys(t *testing.T) {
	s, dir := newSigned(t), t.TempDir()
	allowed := func(name string) (key, file string) {
		key = filepath.Join(dir, name)
		run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key)
		public, err := os.ReadFile(key + ".pub")
		require.NoError(t, err)
		file = filepath.Join(dir, name+".allowed")
		require.NoError(t, os.WriteFile(file, []byte("# who may\n\n"+name+"@example.com namespaces=\"git\" "+string(public)), 0o600))
		return key, file
	}
	ann, anns := allowed("ann")
	_, bobs := allowed("bob")
	commit := s.commit(t, "-c", "gpg.format=ssh", "-c", "user.signingkey="+ann, "-c", "commit.gpgsign=true")
	who, err := s.verify(t, commit, anns)
	require.NoError(t, err)
	require.Equal(t, "ann@example.com", who)
	who, err = s.verify(t, commit, bobs, anns)
	require.NoError(t, err)
	require.Equal(t, "ann@example.com", who)
	_, err = s.verify(t, commit, bobs)
	require.ErrorIs(t, err, git.KindSignature)
	require.ErrorContains(t, err, "by none of the keys")
	_, err = s.verify(t, s.commit(t), anns)
	require.ErrorIs(t, err, git.KindSignature)
	require.ErrorContains(t, err, "the commit is not signed")
}

func TestCommitsSignedByPGPKeys(t *testing.T) {
	s := newSigned(t)
	home, err := os.MkdirTemp("", "gpg") // short enough for the path of a socket
	require.NoError(t, err)
	t.Setenv("GNUPGHOME", home)
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--kill", "all").Run()
		require.NoError(t, os.RemoveAll(home))
	})
	ring := func(name string) string {
		run(t, "gpg", "--batch", "-q", "--passphrase", "", "--quick-gen-key", name+" <"+name+"@example.com>", "ed25519", "sign", "never")
		file := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(file, []byte(run(t, "gpg", "--batch", "--armor", "--export", name+"@example.com")), 0o600))
		return file
	}
	ann, bob := ring("ann"), ring("bob")
	commit := s.commit(t, "-c", "user.signingkey=ann@example.com", "-c", "commit.gpgsign=true")
	who, err := s.verify(t, commit, bob, ann)
	require.NoError(t, err)
	require.Equal(t, "ann <ann@example.com>", who)
	_, err = s.verify(t, commit, bob)
	require.ErrorIs(t, err, git.KindSignature)
}

func TestWhatIsNoKeyIsRefused(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"":        "there are none",
		"ann":     "line 1: it is no allowed signer",
		"ann x y": "line 1: it is no allowed signer",
		"\n# a\n-----BEGIN PGP PUBLIC KEY BLOCK-----":                                                                  "it is no PGP key ring",
		`ann valid-before="20300101" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl`: "line 1: the option valid-before=\"20300101\" is not supported",
	} {
		file := filepath.Join(dir, "keys")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := git.ReadSigners(file)
		require.ErrorContains(t, err, want, text)
	}
}
