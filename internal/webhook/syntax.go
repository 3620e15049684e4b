package webhook

import (
	"strings"
	"unicode/utf8"
)

const (
	maxToken = 128
	maxRef   = 1024
)

// isToken says that s can go into logs, metrics and ids as it is: letters, digits, dashes, underscores and dots.
func isToken(s string) bool {
	for _, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("-_.", rune(c)) {
			return false
		}
	}
	return s != "" && len(s) <= maxToken
}

// isRef is the part of git-check-ref-format that keeps a name from being read as something else than one name.
func isRef(s string) bool {
	for _, c := range s {
		if c <= ' ' || c == 0x7f {
			return false
		}
	}
	return len(s) <= maxRef && utf8.ValidString(s) && !strings.ContainsAny(s, `~^:?*[\`) &&
		!strings.Contains(s, "..") && !strings.Contains(s, "//") && !strings.Contains(s, "@{") && !strings.HasSuffix(s, "/")
}

// objectID returns a SHA-1 or SHA-256 object id in lower case, or nothing for the zero id: there is no object.
func objectID(s string) (string, bool) {
	s = strings.ToLower(s)
	if len(s) != 40 && len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "" {
		return "", false
	}
	if strings.Trim(s, "0") == "" {
		return "", true
	}
	return s, true
}
