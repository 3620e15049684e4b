package main

import (
	"os"
	"strings"

	"go.uber.org/zap"

	"github.com/tidegate/tidegate/internal/config"
	"github.com/tidegate/tidegate/internal/git"
)

// credentials finds the longest URL of the settings that a repository's identity
// begins with. The password is read each time, so that a changed one needs no
// restart.
func credentials(list []config.Credential, log *zap.Logger) func(identity string) (git.Credential, bool) {
	return func(identity string) (git.Credential, bool) {
		var best config.Credential
		length := -1
		for _, c := range list {
			prefix, err := git.NormalizeURL(c.URL)
			if err != nil {
				continue // refused when the settings were read
			}
			if covers(prefix, identity) && len(prefix) > length {
				best, length = c, len(prefix)
			}
		}
		if length < 0 {
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

// covers says whether a prefix covers an identity, by whole path elements:
// github.com/acme is no prefix of github.com/acme-evil.
func covers(prefix, identity string) bool {
	rest, ok := strings.CutPrefix(identity, prefix)
	return ok && (rest == "" || rest[0] == '/')
}
