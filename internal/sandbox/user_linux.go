package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// errBareRoot is root without what makes it root: slots would be root of the host
// too, even if they can do nothing with it.
var errBareRoot = errors.New("this is the host's root, but without the capability SYS_ADMIN; give the worker that capability, or run it as another user")

// runsAsItself says whether slots must run as this process's own user, as it may
// not give user ids away or mount what it likes.
func runsAsItself(o Options) (bool, error) {
	if os.Geteuid() != 0 {
		return true, nil
	}
	maps, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false, fmt.Errorf("find this process's user ids: %w; mount /proc for the worker", err)
	}
	if !mapped(string(maps), uint64(o.FirstUID), uint64(o.Max)) { //nolint:gosec // not negative since withDefaults
		return true, nil
	}
	tree, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	switch {
	case err == nil:
		return false, unix.Close(tree)
	case isWholeHost(string(maps)):
		return false, errBareRoot
	default:
		return true, nil
	}
}

// mapped says whether a user namespace has all ids of a range (user_namespaces(7)).
func mapped(maps string, first, count uint64) bool {
	for line := range strings.Lines(maps) {
		var inside, outside, length uint64
		if _, err := fmt.Sscan(line, &inside, &outside, &length); err == nil && inside <= first && first+count <= inside+length {
			return true
		}
	}
	return false
}

// isWholeHost says whether a process is in the host's own user namespace.
func isWholeHost(maps string) bool {
	var inside, outside, length uint64
	_, err := fmt.Sscan(maps, &inside, &outside, &length)
	return err == nil && inside == 0 && outside == 0 && length == 1<<32-1
}
