package git

import (
	"strings"
	"unicode"

	"github.com/tidegate/tidegate/internal/gitops"
)

// NormalizeURL returns the identity of the repository that a URL names, as
// gitops.Repository has it. The error is of KindURL and never repeats a password.
func NormalizeURL(raw string) (identity string, err error) {
	repository, err := parseURL(raw)
	return repository.Identity, err
}

func parseURL(raw string) (gitops.Repository, error) {
	repository, err := gitops.ParseRepository(raw)
	if err != nil {
		return gitops.Repository{}, &Error{Kind: KindURL, Attempt: "read repository URL " + withoutUser(raw), Reason: err.Error()}
	}
	return repository, nil
}

// withoutUser cuts user and password from anything that may be a URL. It cuts
// rather too much than too little: a password may hold any character.
func withoutUser(raw string) string {
	scheme, rest, found := strings.Cut(raw, "://")
	if !found {
		scheme, rest = "", raw
	} else {
		scheme += "://"
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		rest = rest[at+1:]
	}
	return quoteShort(scheme + rest)
}

func quoteShort(s string) string {
	const limit = 200
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	return `"` + strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s) + `"`
}
