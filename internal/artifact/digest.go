package artifact

import (
	"encoding/hex"
	"fmt"
	"strings"
)

const maxKindLength = 32

// Digest addresses an artifact: its kind, a colon, and the keyed digest of kind and content as 64 hex digits, such as
// bundle:3f…. Equal content of one kind has one digest in one store, and another one in every other store.
type Digest string

// ParseDigest checks that s is a digest. It says nothing about whether the store has it.
func ParseDigest(s string) (Digest, error) {
	kind, sum, ok := strings.Cut(s, ":")
	if !ok || !isKind(kind) || !isSum(sum) {
		return "", fmt.Errorf("artifact digest %q: it must be a kind, a colon and 64 hex digits", s)
	}
	return Digest(s), nil
}

// Kind is the part before the colon: what the artifact is.
func (d Digest) Kind() string {
	kind, _, _ := strings.Cut(string(d), ":")
	return kind
}

// object is where the bucket keeps the artifact: in 256 folders per kind, as some file systems are slow with large ones.
func (d Digest) object() string {
	kind, sum, _ := strings.Cut(string(d), ":")
	return blobFolder + kind + "/" + sum[:2] + "/" + sum
}

// digestOf is the inverse of Digest.object; other objects, such as a write that was cut short, have none.
func digestOf(object string) (Digest, bool) {
	parts := strings.Split(strings.TrimPrefix(object, blobFolder), "/")
	if len(parts) != 3 {
		return "", false
	}
	d, err := ParseDigest(parts[0] + ":" + parts[2])
	return d, err == nil && d.object() == object
}

func (s *Store) digest(kind string, data []byte) Digest {
	return Digest(kind + ":" + hex.EncodeToString(mac(s.keys.addressing, kind, data)))
}

func isKind(s string) bool {
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != "" && len(s) <= maxKindLength
}

func isSum(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 64
}
