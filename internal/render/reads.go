package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Digest digests what a read set finds in one version of a repository. Hash says
// of a path whether it is there, and what it is: for a folder, with everything
// below it. A render whose read set has the same digest in two versions has the
// same result in both, as long as the hashes are of the same kind: Git's hashes
// of trees and blobs, or those of Tree.
func Digest(reads []string, hash func(path string) (hash string, exists bool)) string {
	sorted := slices.Compact(slices.Sorted(slices.Values(reads)))
	sum := sha256.New()
	for _, path := range sorted {
		if h, exists := hash(path); exists {
			_, _ = fmt.Fprintf(sum, "%q %q\n", path, h)
		} else {
			_, _ = fmt.Fprintf(sum, "%q absent\n", path)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
