package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

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

// The servers are quiet when they use less than this share of one core over a
// window; idle, ten of them use about a tenth.
const (
	quietShare  = 0.3
	quietWindow = 500 * time.Millisecond
	quietWithin = time.Minute
)

// quiet returns once the API servers and controllers have finished what the work
// before has left them: whatever is measured next starts from rest.
func (b *bench) quiet(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, quietWithin, errors.New("the API servers do not come to rest"))
	defer cancel()
	window := time.NewTicker(quietWindow)
	defer window.Stop()
	for before := b.serversCPU(); ; {
		select {
		case <-window.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		now := b.serversCPU()
		if now-before < quietShare*quietWindow.Seconds() {
			return nil
		}
		before = now
	}
}

// serversCPU is what everything below Tidegate has used so far, in seconds.
func (b *bench) serversCPU() (total float64) {
	names := []string{"etcd", "controllers"}
	for _, r := range b.stack.Regions {
		names = append(names, "region-"+r.Name)
	}
	for _, name := range names {
		if p, runs := stack.Find(b.stack.Dir, name); runs {
			total += usageOf(p.PID()).cpu
		}
	}
	return total
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
