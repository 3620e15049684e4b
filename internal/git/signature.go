package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Signers are the keys whose signatures of commits count.
type Signers struct {
	pgp []string // armoured key rings
	ssh []sshSigner
}

type sshSigner struct {
	who string
	key ssh.PublicKey
}

const (
	pgpKeys      = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
	sshSignature = "-----BEGIN SSH SIGNATURE-----"
	gitNamespace = "git" // of signatures of commits (gitformat-signature(5))
)

// ReadSigners reads files of keys: armoured PGP key rings, as gpg --armor --export
// writes them, and lists of allowed signers, as ssh-keygen(1) has them, without
// options.
func ReadSigners(files ...string) (s Signers, err error) {
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // the operator's setting
		if err != nil {
			return s, fmt.Errorf("read the keys of signers: %w", err)
		}
		if err := s.add(text); err != nil {
			return s, fmt.Errorf("%s: %w", file, err)
		}
	}
	if len(s.pgp)+len(s.ssh) == 0 {
		return s, errors.New("read the keys of signers: there are none")
	}
	return s, nil
}

func (s *Signers) add(text []byte) error {
	if bytes.Contains(text, []byte(pgpKeys)) {
		if _, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(text)); err != nil {
			return fmt.Errorf("it is no PGP key ring: %w", err)
		}
		s.pgp = append(s.pgp, string(text))
		return nil
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		who, rest, _ := strings.Cut(line, " ")
		key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(rest))
		if err != nil {
			return fmt.Errorf("line %d: it is no allowed signer; write it as name, type of key, key", number)
		}
		for _, option := range options {
			if option != `namespaces="git"` {
				return fmt.Errorf("line %d: the option %s is not supported; remove it", number, option)
			}
		}
		s.ssh = append(s.ssh, sshSigner{who, key})
	}
	return lines.Err()
}

// Verify says who has signed a commit, of those whose signature counts. That
// nobody of them has is an error of KindSignature. The commit is fetched when it
// is not there.
func (m *Mirrors) Verify(ctx context.Context, url, commit string, signers Signers) (who string, err error) {
	err = m.read(ctx, url, commit, func(repository gitops.Repository, repo *mirror, head Head) error {
		return repo.use(func(store *filesystem.Storage) error {
			c, err := object.GetCommit(store, plumbing.NewHash(head.Commit))
			if err != nil {
				return err
			}
			if who, err = signers.verify(c); err != nil {
				return &Error{Kind: KindSignature, Repository: repository.Identity, Attempt: "verify the signature of " + head.Commit, Reason: err.Error()}
			}
			return nil
		})
	})
	return who, err
}

func (s Signers) verify(c *object.Commit) (who string, err error) {
	switch {
	case c.PGPSignature == "":
		return "", errors.New("the commit is not signed; git.signatures in the settings wants it to be")
	case strings.HasPrefix(c.PGPSignature, sshSignature):
		return s.verifySSH(c)
	}
	for _, ring := range s.pgp {
		if entity, err := c.Verify(ring); err == nil {
			return entity.PrimaryIdentity().Name, nil
		}
	}
	return "", errors.New("its PGP signature is by none of the keys of git.signatures, or does not fit")
}

func (s Signers) verifySSH(c *object.Commit) (who string, err error) {
	signature, err := sshsig.Unarmor([]byte(c.PGPSignature))
	if err != nil {
		return "", errors.New("its ssh signature cannot be read")
	}
	encoded := &plumbing.MemoryObject{}
	if err := c.EncodeWithoutSignature(encoded); err != nil {
		return "", err
	}
	for _, signer := range s.ssh {
		reader, err := encoded.Reader()
		if err != nil {
			return "", err
		}
		if sshsig.Verify(reader, signature, signer.key, signature.HashAlgorithm, gitNamespace) == nil {
			return signer.who, nil
		}
	}
	return "", errors.New("its ssh signature is by none of the keys of git.signatures, or does not fit")
}
