package main

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/tidegate/tidegate/internal/charts"
	"github.com/tidegate/tidegate/internal/config"
	"github.com/tidegate/tidegate/internal/git"
)

// credentials finds the longest URL of the settings that a repository's identity
// begins with. The password is read each time, so that a changed one needs no
// restart.
func credentials(list []config.Credential, log *zap.Logger) func(identity string) (git.Credential, bool) {
	return func(identity string) (git.Credential, bool) {
		best, ok := longest(list, identity, false)
		if !ok {
			return git.Credential{}, false
		}
		password, err := os.ReadFile(best.PasswordFile)
		if err != nil {
			log.Error("read a Git password", zap.String("file", best.PasswordFile), zap.Error(err))
			return git.Credential{}, false
		}
		return git.Credential{Username: best.Username, Password: strings.TrimSpace(string(password))}, true
	}
}

// longest finds the entry for an identity: one with a key for ssh, one without for
// everything else.
func longest(list []config.Credential, identity string, key bool) (best config.Credential, ok bool) {
	length := -1
	for _, c := range list {
		prefix := prefixOf(c.URL)
		if (c.SSHKeyFile != "") == key && prefix != "" && covers(prefix, identity) && len(prefix) > length {
			best, length = c, len(prefix)
		}
	}
	return best, length >= 0
}

// sshKeys are the same for repositories over ssh.
func sshKeys(list []config.Credential, log *zap.Logger) func(identity string) (git.SSHKey, bool) {
	return func(identity string) (git.SSHKey, bool) {
		best, ok := longest(list, identity, true)
		if !ok {
			return git.SSHKey{}, false
		}
		key, err := git.ReadSSHKey(best.SSHKeyFile, best.PasswordFile)
		if err != nil {
			log.Error("an entry of git.credentials cannot be used", zap.String("url", best.URL), zap.Error(err))
			return git.SSHKey{}, false
		}
		return key, true
	}
}

// covers says whether a prefix covers an identity, by whole path elements:
// github.com/acme is no prefix of github.com/acme-evil.
func covers(prefix, identity string) bool {
	rest, ok := strings.CutPrefix(identity, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// prefixOf is what identities below a URL begin with; a URL without a path covers
// its whole host. It is empty for what is no URL.
func prefixOf(raw string) string {
	if rest, ok := strings.CutPrefix(raw, "oci://"); ok {
		raw = "https://" + rest
	}
	u, err := url.Parse(raw)
	if err == nil && strings.Trim(u.Path, "/") == "" {
		host, err := git.NormalizeURL(strings.TrimSuffix(raw, "/") + "/x")
		if err != nil {
			return ""
		}
		return strings.TrimSuffix(host, "/x")
	}
	identity, err := git.NormalizeURL(raw)
	if err != nil {
		return ""
	}
	return identity
}

// signersOf reads the keys of git.signatures. Of several entries for a repository
// the longest URL counts.
func signersOf(list []config.Signature) (func(identity string) (git.Signers, bool), error) {
	type entry struct {
		prefix  string
		signers git.Signers
	}
	var entries []entry
	for _, s := range list {
		signers, err := git.ReadSigners(s.Files...)
		if err != nil {
			return nil, fmt.Errorf("git.signatures: %s: %w", s.URL, err)
		}
		prefix := prefixOf(s.URL)
		if s.URL == everywhere {
			prefix = ""
		}
		entries = append(entries, entry{prefix, signers})
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return len(b.prefix) - len(a.prefix) })
	return func(identity string) (git.Signers, bool) {
		for _, e := range entries {
			if e.prefix == "" || covers(e.prefix, identity) {
				return e.signers, true
			}
		}
		return git.Signers{}, false
	}, nil
}

// everywhere is an entry of git.remoteSources, or a URL of git.signatures.
const everywhere = "*"

// mayFetch says whether an identity is one that manifests may refer to.
func mayFetch(list []string) func(identity string) bool {
	return func(identity string) bool {
		return slices.ContainsFunc(list, func(entry string) bool {
			prefix := prefixOf(entry)
			return entry == everywhere || prefix != "" && covers(prefix, identity)
		})
	}
}

// chartCredentials are the same for the identity of a chart: host/path#chart.
func (p program) chartCredentials() func(identity string) (charts.Credential, bool) {
	find := credentials(p.settings.Git.Credentials, p.log)
	return func(identity string) (charts.Credential, bool) {
		place, _, _ := strings.Cut(identity, "#")
		found, ok := find(place)
		return charts.Credential{Username: found.Username, Password: found.Password}, ok
	}
}
