package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/tidegate/tidegate/deploy/local/stack"
)

// usage is what a process has used so far.
type usage struct {
	cpu  float64 // seconds
	peak int     // MiB of resident memory
}

// usages are those of the processes that Tidegate runs on.
func (b *bench) usages() map[string]usage {
	all := map[string]usage{}
	for _, name := range []string{"tidegate-worker", "tidegate-serve", "temporal"} {
		if p, runs := stack.Find(b.stack.Dir, name); runs {
			all[name] = usageOf(p.PID())
		}
	}
	return all
}

// clockTicks a second, as Linux counts a process's time for other processes.
const clockTicks = 100

func usageOf(pid int) usage {
	var u usage
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		_, after, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(after); len(fields) > 12 {
			user, _ := strconv.Atoi(fields[11])
			system, _ := strconv.Atoi(fields[12])
			u.cpu = float64(user+system) / clockTicks
		}
	}
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				kib, _ := strconv.Atoi(strings.Fields(rest)[0])
				u.peak = kib >> 10
			}
		}
	}
	return u
}
