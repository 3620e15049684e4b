package sandbox_test

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidegate/tidegate/internal/sandbox"
)

// waits keeps how long jobs waited for a slot.
type waits struct{ all []time.Duration }

func (w *waits) SlotTaken(d time.Duration) { w.all = append(w.all, d) }
func (*waits) SlotReplaced(error)          {}

// BenchmarkNative runs a trivial handler in a slot that is ready, one after the
// other, and reports how long it waited for the slot.
func BenchmarkNative(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("the native sandbox needs root for now")
	}
	program, err := probe()
	if err != nil {
		b.Fatal(err)
	}
	w := &waits{}
	n, err := sandbox.NewNative(sandbox.Options{Program: program, Observer: w})
	if err != nil {
		b.Skip(err)
	}
	defer n.Close()
	dir := b.TempDir()
	for b.Loop() {
		b.StopTimer()
		for n.Stats().Idle < 10 {
			runtime.Gosched() // the pool fills up
		}
		b.StartTimer()
		if _, err := n.Run(b.Context(), sandbox.Job{Stdin: []byte("echo x"), Dir: dir}); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(w.all)
	b.ReportMetric(float64(w.all[len(w.all)/2].Microseconds()), "p50-wait-µs")
	b.ReportMetric(float64(w.all[len(w.all)*99/100].Microseconds()), "p99-wait-µs")
}

// BenchmarkPlainProcess is the same handler without a sandbox, for comparison.
func BenchmarkPlainProcess(b *testing.B) {
	program, err := probe()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		cmd := exec.Command(program)
		cmd.Stdin = strings.NewReader("echo x")
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}
