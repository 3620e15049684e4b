package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// processStart returns when the process started, in clock ticks since the machine did, and whether it is more than a
// zombie. In /proc/<pid>/stat the second field is the program's name in parentheses, which may hold anything; after it, the
// state is the first field, the number of threads the eighteenth, the start the twentieth. A zombie of which other threads
// are left still holds its ports.
func processStart(pid int) (started string, running bool, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return "", false, fmt.Errorf("read /proc/%d/stat: too few fields in %q", pid, text)
	}
	ended := fields[0] == "X" || fields[0] == "Z" && (fields[17] == "0" || fields[17] == "1")
	return fields[19], !ended, nil
}

// frozen says whether every thread of a process is stopped.
func frozen(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		if _, state, _ := strings.Cut(string(text), ") "); !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}
