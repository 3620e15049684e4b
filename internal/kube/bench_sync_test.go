package kube_test

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/kube/kubetest"
)

var benchSync = flag.Bool("bench-sync", false, "measure syncs of large targets and print the figures")

// benchRounds is how often each way is measured, in turns; the median counts.
const benchRounds = 5

// TestBenchSync measures what a sync costs over a bare loop of applies with as many
// in flight, on one region: writing, trying out, finding that there is nothing to do.
func TestBenchSync(t *testing.T) {
	if !*benchSync {
		t.Skip("it measures, and takes minutes: make bench-sync")
	}
	server := kubetest.Start(t, "bench")[0]
	var line strings.Builder
	line.WriteString("RESULT")
	for _, size := range []int{1000, 5000} {
		f := measureSync(t, server, fmt.Sprintf("maps-%d", size), size, manyConfigMaps)
		fmt.Fprintf(&line, " apply_ratio_%d=%.2f", size, f.apply/f.bare)
		if size == 1000 {
			fmt.Fprintf(&line, " preflight_ratio=%.2f noop_ratio=%.3f noop_requests=%d", f.tried/f.bare, f.noop/f.apply, f.requests)
		} else {
			fmt.Fprintf(&line, " worker_mem_mb=%.0f", f.memory)
		}
	}
	d := measureSync(t, server, "deployments-500", 500, manyDeployments)
	fmt.Fprintf(&line, " apply_ratio_deployments_500=%.2f", d.apply/d.bare)
	t.Log(line.String())
	fmt.Println(line.String())
}

// figures are medians, in seconds, of one size.
type figures struct {
	bare, apply, tried, noop float64
	requests                 int     // of a plan of nothing
	memory                   float64 // MiB above idle, at the peak of a plan and its apply
}

func measureSync(t *testing.T, server *kubetest.Region, name string, size int, make func(size, generation int) []string) (f figures) {
	t.Helper()
	// The bare loop has no budget of requests a second, and neither have we here.
	region := openWith(t, server, func(o *kube.Settings) { o.QPS, o.Burst = 1e5, 1e5 })
	s := newScene(t, server, region, name)
	s.syncOnly(t, make(size, 0)...)
	loop := bareLoopIn(t, server, name)
	generation := 0
	var bare, apply, tried, noop []float64
	for range benchRounds {
		generation++
		objects := decode(t, s.plan(t, make(size, generation)...))
		bare = append(bare, seconds(func() { loop(objects) }))
		s.syncOnly(t, make(size, generation)...)

		generation++
		bundle := s.bundle(t, make(size, generation)...)
		apply = append(apply, seconds(func() { s.syncBundle(t, bundle) }))
		noop = append(noop, seconds(func() {
			plan, err := s.tryPlan(t, bundle)
			require.NoError(t, err)
			require.Equal(t, size, plan.Unchanged)
		}))

		generation++
		bundle = s.bundle(t, make(size, generation)...)
		s.preflight = true
		tried = append(tried, seconds(func() { s.syncBundle(t, bundle) }))
		s.preflight = false
	}
	f = figures{bare: median(bare), apply: median(apply), tried: median(tried), noop: median(noop)}
	f.requests = s.requestsOfNothing(t, make(size, generation))
	f.memory = s.peak(t, make(size, generation+1))
	t.Logf("%s: bare %.2f s, plan and apply %.2f s, with preflight %.2f s, nothing to do %.3f s in %d requests, %.0f MiB above idle", name, f.bare, f.apply, f.tried, f.noop, f.requests, f.memory)
	return f
}

func seconds(do func()) float64 {
	started := time.Now()
	do()
	return time.Since(started).Seconds()
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// syncOnly plans and applies, and does not wait.
func (s *scene) syncOnly(t *testing.T, documents ...string) {
	s.syncBundle(t, s.bundle(t, documents...))
}

func (s *scene) syncBundle(t *testing.T, bundle []byte) {
	t.Helper()
	plan, err := s.tryPlan(t, bundle)
	require.NoError(t, err)
	s.epoch++
	for i := range plan.Steps {
		applied, err := s.apply(t, plan, i)
		require.NoError(t, err)
		require.Empty(t, applied.Failures)
	}
}

// requestsOfNothing counts what a worker that remembers nothing asks for when there
// is nothing to do, discovery aside.
func (s *scene) requestsOfNothing(t *testing.T, documents []string) int {
	t.Helper()
	fresh := *s
	fresh.region = openWith(t, s.server, func(o *kube.Settings) { o.Version = "nothing" })
	require.Empty(t, fresh.actions(fresh.plan(t, documents...)))
	return len(s.server.Requests(t, func(r kubetest.Request) bool {
		return strings.HasPrefix(r.Agent, "tidegate/nothing") && r.Ref.Resource != ""
	}))
}

// peak is how much more memory a sync takes than an idle worker, in MiB.
func (s *scene) peak(t *testing.T, documents []string) float64 {
	t.Helper()
	bundle := s.bundle(t, documents...)
	idle := heap()
	var highest atomic.Uint64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				highest.Store(max(highest.Load(), m.HeapAlloc))
			case <-done:
				return
			}
		}
	}()
	s.syncBundle(t, bundle)
	close(done)
	<-ended
	return (float64(highest.Load()) - idle) / (1 << 20)
}

// heap is what is in use after a collection.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func manyConfigMaps(size, generation int) []string {
	out := make([]string, size)
	filler := strings.Repeat("x", 400)
	for i := range out {
		out[i] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\ndata: {generation: %q, filler: %s}", i, fmt.Sprint(generation), filler)
	}
	return out
}

// manyDeployments have no pods: what is measured is the writing.
func manyDeployments(size, generation int) []string {
	out := make([]string, size)
	for i := range out {
		d := strings.ReplaceAll(small, "name: web}", fmt.Sprintf("name: w%d}", i))
		out[i] = strings.NewReplacer("web:1", fmt.Sprintf("web:%d", generation), "spec:\n  selector", "spec:\n  replicas: 0\n  selector").Replace(d)
	}
	return out
}
