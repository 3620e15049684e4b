package artifact

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

const (
	namedFolder = "named/"
	// leaf ends the last part of an object, so that "a" and "a/b" are no file and folder of the same name, and so that
	// temporary files, which get another ending, are never listed.
	leaf = "="
	// more ends a part that goes on in the next one: file systems allow 255 bytes a part, temporary ending included.
	more          = "+"
	partLength    = 200
	objectLength  = 1000 // S3 allows 1024
	emptyPart     = "%"
	plainAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789._-"
)

// namedObject is the place of a named object in the bucket. It stays readable, and works where case does not count.
func namedObject(name string) (string, error) {
	if name == "" {
		return "", errors.New("a named object needs a name")
	}
	folders, last := splitName(name)
	object := folders + escapePart(last) + leaf
	if len(object) > objectLength {
		return "", fmt.Errorf("the name %.60q… is too long for a named object: %d bytes when escaped, at most %d", name, len(object), objectLength)
	}
	return object, nil
}

// namedFolderOf is the deepest folder that holds every object whose name begins with prefix.
func namedFolderOf(prefix string) string {
	folders, _ := splitName(prefix)
	return folders
}

func splitName(name string) (folders, last string) {
	parts := strings.Split(name, "/")
	var b strings.Builder
	b.WriteString(namedFolder)
	for _, part := range parts[:len(parts)-1] {
		b.WriteString(escapePart(part) + "/")
	}
	return b.String(), parts[len(parts)-1]
}

// escapePart writes everything but plainAlphabet as %xx. A dot or underscore is plain only where it cannot become "..",
// a hidden file, or one of the file driver's own escapes, which begin with two underscores.
func escapePart(part string) string {
	if part == "" {
		return emptyPart
	}
	var b strings.Builder
	length := 0
	for i, c := range []byte(part) {
		text := string(rune(c))
		alone := i > 0 && part[i-1] != c
		if !strings.Contains(plainAlphabet, text) || (c == '.' || c == '_') && !alone {
			text = fmt.Sprintf("%%%02x", c)
		}
		if length+len(text) > partLength {
			b.WriteString(more + "/")
			length = 0
		}
		b.WriteString(text)
		length += len(text)
	}
	return b.String()
}

// nameOf is the inverse of namedObject; objects that are not named ones have no name.
func nameOf(object string) (string, bool) {
	escaped, ok := strings.CutPrefix(object, namedFolder)
	if !ok {
		return "", false
	}
	if escaped, ok = strings.CutSuffix(escaped, leaf); !ok {
		return "", false
	}
	parts := strings.Split(strings.ReplaceAll(escaped, more+"/", ""), "/")
	for i, part := range parts {
		if part == emptyPart {
			parts[i] = ""
			continue
		}
		plain, err := url.PathUnescape(part)
		if err != nil {
			return "", false
		}
		parts[i] = plain
	}
	return strings.Join(parts, "/"), true
}
