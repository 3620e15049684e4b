package stack

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Ports for tests come from below the range that systems hand out by themselves, so that no client's connection takes one
// between its choice and its use.
const (
	firstFreePort = 20000
	lastFreePort  = 30000
)

// reservation holds free ports against every other stack of this machine: by a locked file each, until it is released or
// the process ends.
type reservation struct {
	folder string
	files  []*os.File
}

func newReservation() (*reservation, error) {
	folder := filepath.Join(os.TempDir(), fmt.Sprintf("tidegate-ports-%d", os.Getuid()))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("reserve ports: %w", err)
	}
	return &reservation{folder: folder}, nil
}

// take reserves n ports in a row and returns the first.
func (r *reservation) take(n int) (int, error) {
	for range 1000 {
		first := firstFreePort + rand.IntN(lastFreePort-firstFreePort-n)
		if r.tryRow(first, n) {
			return first, nil
		}
	}
	return 0, fmt.Errorf("reserve %d ports between %d and %d: too many are taken", n, firstFreePort, lastFreePort)
}

// tryRow reserves all n ports or none.
func (r *reservation) tryRow(first, n int) bool {
	had := len(r.files)
	for number := first; number < first+n; number++ {
		file, err := lockFile(filepath.Join(r.folder, strconv.Itoa(number)))
		if err == nil {
			r.files = append(r.files, file)
			err = checkPort(Port{Number: &number})
		}
		if err != nil {
			r.releaseFrom(had)
			return false
		}
	}
	return true
}

// release gives the ports back.
func (r *reservation) release() { r.releaseFrom(0) }

func (r *reservation) releaseFrom(index int) {
	for _, file := range r.files[index:] {
		_ = file.Close() // closing gives up the lock
	}
	r.files = r.files[:index]
}

// lockFile opens a file and locks it against every other process; it fails at once when another has the lock.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}
