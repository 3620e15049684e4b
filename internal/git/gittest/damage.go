package gittest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Damage overwrites the middle of every pack below a folder of mirrors, as a bad
// disk would, and returns how many there were.
func Damage(t testing.TB, dir string) int { return eachPack(t, dir, scribble) }

// DamageByDeletion deletes every pack below a folder of mirrors.
func DamageByDeletion(t testing.TB, dir string) int { return eachPack(t, dir, os.Remove) }

func eachPack(t testing.TB, dir string, do func(string) error) (count int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".pack") {
			return err
		}
		count++
		return do(file)
	})
	require.NoError(t, err)
	return count
}

func scribble(file string) error {
	if err := os.Chmod(file, 0o600); err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	const header, trailer = 12, 20
	for i := header; i < len(content)-trailer; i++ {
		content[i] ^= 0x55
	}
	return os.WriteFile(file, content, 0o600)
}
