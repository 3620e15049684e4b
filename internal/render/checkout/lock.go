//go:build unix

package checkout

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockShared waits until nobody removes the tree.
func lockShared(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_SH); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// tryLock says whether nobody uses the tree, and keeps it so.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
