package activities_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"golang.org/x/sync/errgroup"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/artifact"
	"github.com/tidegate/tidegate/internal/git"
	"github.com/tidegate/tidegate/internal/git/gittest"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
	"github.com/tidegate/tidegate/internal/render/renderer"
	"github.com/tidegate/tidegate/internal/sandbox"
)

var benchRender = flag.Bool("bench-render", false, "measure renders and print the figures")

const (
	benchRuns    = 60
	benchObjects = 20
	benchPaths   = 1000
	benchFor     = 5 * time.Second
)

// TestBenchRender measures; it claims nothing. `make bench-render` runs it.
func TestBenchRender(t *testing.T) {
	if !*benchRender {
		t.Skip("run make bench-render to measure renders")
	}
	binary := filepath.Join(t.TempDir(), "tidegate-render")
	build := exec.Command("go", "build", "-o", binary, "github.com/tidegate/tidegate/internal/render/renderer/tidegate-render")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	for dir := filepath.Dir(binary); dir != "/"; dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o755), "slots have ids of their own")
		if dir == os.TempDir() {
			break
		}
	}
	waits := &waits{}
	pool, err := sandbox.NewNative(sandbox.Options{Program: binary, Observer: waits})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	b := renderBench{t: t, pool: pool, engine: &render.Engine{Sandbox: pool, Binary: binary, Timeout: time.Minute}, waits: waits}

	slot := b.slotMemory()
	overhead := max(b.overhead("chart", chartTree(t)), b.overhead("overlay", overlayTree(t)))
	b.cold(binary)
	acquire := waits.report()
	b.throughput("chart", chartTree(t))
	b.throughput("overlay", overlayTree(t))
	cached, renders := b.monorepo()
	fmt.Printf("RESULT overhead_ms_p50=%.1f acquire_ms_p99=%.3f cached_ms_p50=%.2f slot_mb=%.1f monorepo_renders_1=%d monorepo_renders_10=%d\n",
		overhead, acquire, cached, slot, renders[1], renders[10])
}

type renderBench struct {
	t      *testing.T
	pool   *sandbox.Native
	engine *render.Engine
	waits  *waits
}

// waits collects how long jobs waited for a slot.
type waits struct {
	mu   sync.Mutex
	list []time.Duration
}

func (w *waits) SlotTaken(wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, wait)
}

func (*waits) SlotReplaced(error) {}

func (w *waits) report() (p99 float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Printf("acquire a warm slot: p50 %.3f ms, p99 %.3f ms (%d times)\n", ms(quantile(w.list, .5)), ms(quantile(w.list, .99)), len(w.list))
	return ms(quantile(w.list, .99))
}

func quantile(list []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func chartTree(t *testing.T) string {
	files := map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "values.yaml": "image: web\n"}
	for i := range benchObjects {
		files[fmt.Sprintf("templates/%02d.yaml", i)] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-%02d\n  labels: {app: {{ .Chart.Name | quote }}}\ndata:\n  image: {{ .Values.image | quote }}\n", i)
	}
	return plantTree(t, files)
}

func overlayTree(t *testing.T) string {
	files := map[string]string{"kustomization.yaml": "resources: [base]\nnamePrefix: eu-\n"}
	var names []string
	for i := range benchObjects {
		name := fmt.Sprintf("%02d.yaml", i)
		names = append(names, name)
		files["base/"+name] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-%02d, labels: {app: shop}}\ndata: {image: web}\n", i)
	}
	files["base/kustomization.yaml"] = "resources: [" + strings.Join(names, ", ") + "]\n"
	return plantTree(t, files)
}

func plantTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return dir
}

func request(tree string) render.Request {
	return render.Request{Tree: tree, Path: ".", Release: render.Release{Name: "web", Namespace: "shop", KubeVersion: "v1.37.2"}}
}

// overhead is what the sandbox adds to a render, in ms at p50: each waits until
// the pool is full, so that no slot starts beside it.
func (b renderBench) overhead(what, tree string) float64 {
	input, err := json.Marshal(request(tree))
	require.NoError(b.t, err)
	inProcess := b.repeat(func() {
		var out bytes.Buffer
		require.NoError(b.t, renderer.Run(b.t.Context(), tree, "", bytes.NewReader(input), &out))
	})
	confined := b.repeat(func() {
		_, err := b.engine.Render(b.t.Context(), request(tree))
		require.NoError(b.t, err)
	})
	difference := ms(quantile(confined, .5)) - ms(quantile(inProcess, .5))
	fmt.Printf("%s of %d objects: in-process p50 %.1f ms, in a warm slot p50 %.1f ms p99 %.1f ms: the sandbox adds %.1f ms\n",
		what, benchObjects, ms(quantile(inProcess, .5)), ms(quantile(confined, .5)), ms(quantile(confined, .99)), difference)
	return difference
}

func (b renderBench) repeat(run func()) (took []time.Duration) {
	run()
	for range benchRuns {
		b.untilFull()
		began := time.Now()
		run()
		took = append(took, time.Since(began))
	}
	return took
}

func (b renderBench) untilFull() {
	require.Eventually(b.t, func() bool { return b.pool.Stats() == sandbox.Stats{Idle: 10} }, time.Minute, time.Millisecond)
}

// cold measures the first render of a pool that has just been made.
func (b renderBench) cold(binary string) {
	tree := overlayTree(b.t)
	var took []time.Duration
	for range 5 {
		began := time.Now()
		pool, err := sandbox.NewNative(sandbox.Options{Program: binary, Idle: 1})
		require.NoError(b.t, err)
		_, err = (&render.Engine{Sandbox: pool, Binary: binary, Timeout: time.Minute}).Render(b.t.Context(), request(tree))
		require.NoError(b.t, err)
		took = append(took, time.Since(began))
		require.NoError(b.t, pool.Close())
	}
	fmt.Printf("cold: a pool made and its first render done in %.0f ms (p50 of %d)\n", ms(quantile(took, .5)), len(took))
}

// throughput renders as fast as the machine can, two at a time.
func (b renderBench) throughput(what, tree string) {
	b.untilFull()
	var done atomic.Int64
	ctx, cancel := context.WithTimeout(b.t.Context(), benchFor)
	defer cancel()
	var group errgroup.Group
	for range 2 {
		group.Go(func() error {
			for ctx.Err() == nil {
				if _, err := b.engine.Render(b.t.Context(), request(tree)); err != nil {
					return err
				}
				done.Add(1)
			}
			return nil
		})
	}
	require.NoError(b.t, group.Wait())
	fmt.Printf("%s of %d objects, two at a time, slots replaced meanwhile: %.1f renders a second\n", what, benchObjects, float64(done.Load())/benchFor.Seconds())
}

// slotMemory is the mean share of memory of an idle slot, in MB (PSS).
func (b renderBench) slotMemory() float64 {
	b.untilFull()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(b.t, err)
	var pss, rss float64
	count := 0
	for _, file := range processes {
		if name, _ := os.ReadFile(file); string(name) != "tidegate-slot\x00" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "smaps_rollup"))
		require.NoError(b.t, err)
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 2 {
				continue
			}
			kb, _ := strconv.ParseFloat(fields[1], 64)
			switch fields[0] {
			case "Pss:":
				pss += kb / 1000
			case "Rss:":
				rss += kb / 1000
			}
		}
		count++
	}
	require.NotZero(b.t, count)
	fmt.Printf("an idle slot: %.1f MB (PSS), %.1f MB resident, mean of %d\n", pss/float64(count), rss/float64(count), count)
	return pss / float64(count)
}

// monorepo pushes changes of 1, 10 and all of 1,000 paths, and counts the renders.
func (b renderBench) monorepo() (cached float64, renders map[int]int32) {
	t := b.t
	store, err := artifact.Open(t.Context(), artifact.Options{URL: "mem://"})
	require.NoError(t, err)
	mirrors, err := git.New(git.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	repo := gittest.NewServer(t).NewRepo("mono")
	var runs atomic.Int32
	engine := &render.Engine{Sandbox: countingPool{b.pool, &runs}, Binary: b.engine.Binary, Timeout: time.Minute}
	r := &activities.Renderer{Engine: engine, Blobs: activities.Blobs{Store: store}, Dir: filepath.Join(t.TempDir(), "checkouts")}
	s := &activities.Source{Mirrors: mirrors, Blobs: activities.Blobs{Store: store}}
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.SetTestTimeout(10 * time.Minute)
	env.RegisterActivity(r)
	env.RegisterActivity(s)
	var targets []gitops.Target
	for i := range benchPaths {
		targets = append(targets, renderTarget(fmt.Sprintf("t-%04d", i), fmt.Sprintf("apps/%04d", i), nil))
	}
	deliver := func(commit string) time.Duration {
		began := time.Now()
		value, err := env.ExecuteActivity(s.CheckOut, activities.CheckOutInput{Sources: []activities.SourceAt{{RepoURL: repo.URL, Ref: ref, Commit: commit}}})
		require.NoError(t, err)
		var tree activities.CheckOutResult
		require.NoError(t, value.Get(&tree))
		_, err = env.ExecuteActivity(r.Render, activities.RenderInput{Checkouts: tree.Checkouts, Targets: targets})
		require.NoError(t, err)
		return time.Since(began)
	}
	push := func(paths, version int) (time.Duration, int32) {
		files := map[string]string{}
		for i := range paths {
			files[fmt.Sprintf("apps/%04d/a.yaml", i)] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a-%d}\ndata: {version: %q}\n", i, strconv.Itoa(version))
		}
		repo.CommitFiles(files, "change")
		repo.Push("main")
		before := runs.Load()
		took := deliver(repo.Head())
		return took, runs.Load() - before
	}
	renders = map[int]int32{}
	for version, paths := range []int{benchPaths, 1, 10, benchPaths} {
		took, count := push(paths, version)
		renders[paths] = count
		fmt.Printf("monorepo of %d paths, a push to %d: %.2f s, %d renders\n", benchPaths, paths, took.Seconds(), count)
	}
	one := activities.RenderInput{}
	value, err := env.ExecuteActivity(s.CheckOut, activities.CheckOutInput{Sources: []activities.SourceAt{{RepoURL: repo.URL, Ref: ref, Commit: repo.Head()}}})
	require.NoError(t, err)
	var tree activities.CheckOutResult
	require.NoError(t, value.Get(&tree))
	one.Checkouts, one.Targets = tree.Checkouts, targets[:1]
	before := runs.Load()
	took := b.repeat(func() {
		_, err := env.ExecuteActivity(r.Render, one)
		require.NoError(t, err)
	})
	require.Equal(t, before, runs.Load(), "nothing is rendered again")
	fmt.Printf("a render that was done before: p50 %.2f ms\n", ms(quantile(took, .5)))
	return ms(quantile(took, .5)), renders
}

// countingPool counts the renders that a pool runs.
type countingPool struct {
	pool *sandbox.Native
	runs *atomic.Int32
}

func (c countingPool) Run(ctx context.Context, job sandbox.Job) (sandbox.Result, error) {
	c.runs.Add(1)
	return c.pool.Run(ctx, job)
}
