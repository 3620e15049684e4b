package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// maxOpenFiles is plenty for a renderer, which reads one file after the other.
const maxOpenFiles = 1024

// limit sets what the kernel bounds. RLIMIT_DATA and not RLIMIT_AS: a Go program
// reserves far more addresses than it uses.
func limit(pid int, limits Limits) error {
	for resource, value := range map[int]uint64{
		unix.RLIMIT_DATA:   uint64(limits.Memory), //nolint:gosec // positive since withDefaults
		unix.RLIMIT_CORE:   0,
		unix.RLIMIT_NOFILE: maxOpenFiles,
	} {
		if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil); err != nil {
			return fmt.Errorf("set limit %d: %w", resource, err)
		}
	}
	return nil
}
