package git

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"

	"github.com/tidegate/tidegate/internal/gitops"
)

// SSHKey logs in to repositories over ssh.
type SSHKey struct {
	PEM        []byte
	Passphrase string // empty when the key has none
}

// String hides the key from logs.
func (SSHKey) String() string { return "[key]" }

// GoString hides the key from %#v.
func (k SSHKey) GoString() string { return k.String() }

func init() { gitssh.DefaultSSHConfig = nil } // what the user of this process has set for ssh is not ours

// newSSHRemote speaks Git's protocol over ssh: with a key of the settings, to hosts
// whose keys they know.
func newSSHRemote(m *Mirrors, repository gitops.Repository) (*smartRemote, error) {
	fault := func(reason string, err error) (*smartRemote, error) {
		return nil, &Error{Kind: KindAuth, Repository: repository.Identity, Attempt: "connect over ssh", Reason: reason, Err: err}
	}
	endpoint, err := transport.NewEndpoint(repository.Dial)
	if err != nil {
		return nil, &Error{Kind: KindURL, Repository: repository.Identity, Attempt: "connect", Reason: "the URL cannot be dialled"}
	}
	if m.options.KnownHosts == "" {
		return fault("no host is known; name a file with the keys of hosts in git.knownHosts, as ssh-keyscan writes it", nil)
	}
	known, err := knownhosts.NewDB(m.options.KnownHosts)
	if err != nil {
		return fault("the file git.knownHosts cannot be read", err)
	}
	var key SSHKey
	ok := false
	if m.options.SSHKeys != nil {
		key, ok = m.options.SSHKeys(repository.Identity)
	}
	if !ok {
		return fault("there is no key for it; add "+repository.Identity+" with an sshKeyFile to git.credentials", nil)
	}
	signer, err := key.signer()
	if err != nil {
		return fault("the sshKeyFile of its entry in git.credentials cannot be used", err)
	}
	auth := sshAuth{user: repository.User, signer: signer, known: known, host: hostOf(endpoint), config: ssh.ClientConfig{Timeout: m.options.AskTimeout}}
	return &smartRemote{identity: repository.Identity, endpoint: endpoint, client: gitssh.DefaultClient, auth: auth}, nil
}

func (k SSHKey) signer() (ssh.Signer, error) {
	if k.Passphrase != "" {
		return ssh.ParsePrivateKeyWithPassphrase(k.PEM, []byte(k.Passphrase))
	}
	return ssh.ParsePrivateKey(k.PEM)
}

func hostOf(e *transport.Endpoint) string {
	port := e.Port
	if port <= 0 {
		port = gitssh.DefaultPort
	}
	return net.JoinHostPort(e.Host, strconv.Itoa(port))
}

// sshAuth implements gitssh.AuthMethod.
type sshAuth struct {
	user   string
	signer ssh.Signer
	known  *knownhosts.HostKeyDB
	host   string
	config ssh.ClientConfig
}

// Name implements transport.AuthMethod.
func (sshAuth) Name() string { return gitssh.PublicKeysName }

// String implements transport.AuthMethod.
func (a sshAuth) String() string { return a.user + " with a key" }

// ClientConfig offers the host only the kinds of keys that are known of it: it
// would show another one otherwise.
func (a sshAuth) ClientConfig() (*ssh.ClientConfig, error) {
	config := a.config
	config.User, config.Auth = a.user, []ssh.AuthMethod{ssh.PublicKeys(a.signer)}
	config.HostKeyCallback, config.HostKeyAlgorithms = a.known.HostKeyCallback(), a.known.HostKeyAlgorithms(a.host)
	return &config, nil
}

// explainSSH recognises what only happens over ssh; "" when it is something else.
func explainSSH(err error) (reason string) {
	switch {
	case knownhosts.IsHostKeyChanged(err):
		return "the host shows another key than git.knownHosts has for it: either it has a new one, or somebody is in between"
	case knownhosts.IsHostUnknown(err):
		return "the host is not in git.knownHosts; add what ssh-keyscan says of it, after a look at whether that is its key"
	case err != nil && strings.Contains(err.Error(), "unable to authenticate"):
		return "the server does not take the key; add it there, or correct the entry in git.credentials"
	default:
		return ""
	}
}

// ReadSSHKey reads a private key's file, and that of its passphrase where there is
// one.
func ReadSSHKey(file, passphraseFile string) (SSHKey, error) {
	pem, err := os.ReadFile(file) //nolint:gosec // the operator's setting
	if err != nil {
		return SSHKey{}, fmt.Errorf("read an ssh key: %w", err)
	}
	key := SSHKey{PEM: pem}
	if passphraseFile == "" {
		var missing *ssh.PassphraseMissingError
		if _, err := key.signer(); errors.As(err, &missing) {
			return key, fmt.Errorf("the ssh key %s has a passphrase; name a file with it in passwordFile", file)
		}
		return key, nil
	}
	passphrase, err := os.ReadFile(passphraseFile) //nolint:gosec // likewise
	if err != nil {
		return key, fmt.Errorf("read the passphrase of an ssh key: %w", err)
	}
	key.Passphrase = strings.TrimSpace(string(passphrase))
	return key, nil
}
