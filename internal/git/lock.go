package git

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// writeLock is held by one goroutine among all processes of this machine. The
// kernel drops it when its process dies.
type writeLock struct {
	path string
	held chan struct{} // within this process
}

func newWriteLock(path string) *writeLock {
	return &writeLock{path: path, held: make(chan struct{}, 1)}
}

// take waits for the lock until the context ends.
func (l *writeLock) take(ctx context.Context) (release func(), err error) {
	select {
	case l.held <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	file, err := l.takeFile(ctx)
	if err != nil {
		<-l.held
		return nil, err
	}
	return func() {
		_ = file.Close() // unlocks
		<-l.held
	}, nil
}

func (l *writeLock) takeFile(ctx context.Context) (*os.File, error) {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock mirror: %w", err)
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return file, nil
		}
		select {
		case <-again.C: // another process fetches
		case <-ctx.Done():
			_ = file.Close()
			return nil, ctx.Err()
		}
	}
}
