package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tidegate/tidegate/internal/sandbox"
)

// probeVariable names a probe that is built already, for a test binary that runs as
// somebody else.
const probeVariable = "TIDEGATE_TEST_PROBE"

// probe builds the probe once.
var probe = sync.OnceValues(func() (string, error) {
	if built := os.Getenv(probeVariable); built != "" {
		return built, nil
	}
	var err error
	if probeDir, err = os.MkdirTemp("", "tidegate-probe-"); err != nil {
		return "", err
	}
	return buildProbe(probeDir+"/probe", "CGO_ENABLED=0")
})

func buildProbe(path string, environment ...string) (string, error) {
	build := exec.Command("go", "build", "-o", path, "./probe")
	build.Env = append(os.Environ(), environment...)
	build.Stderr = os.Stderr
	return path, build.Run()
}

// needNative skips a test where this host lacks something that the native sandbox
// needs, and says what. Where it has everything the sandbox must work.
func needNative(t *testing.T) string {
	t.Helper()
	program, err := probe()
	require.NoError(t, err)
	for _, f := range hostOffers() {
		if f.Name != sandbox.NativeFinding && f.State == sandbox.StateMissing {
			t.Skipf("no native sandbox here: %s: %s; %s", f.Name, f.Detail, f.Remedy)
		}
	}
	return program
}

// hostOffers is what this host offers to the native sandbox.
var hostOffers = sync.OnceValue(func() []sandbox.Finding { return sandbox.Check(sandbox.Options{Program: "/no/program"}) })

func native(t *testing.T, options sandbox.Options) *sandbox.Native {
	t.Helper()
	options.Program = needNative(t)
	n, err := sandbox.NewNative(options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	return n
}

// inside runs an attempt in a slot, outside runs the same as a plain process.
func inside(t *testing.T, n runner, dir, attempt string, limits sandbox.Limits) (string, error) {
	t.Helper()
	result, err := n.Run(t.Context(), sandbox.Job{Stdin: []byte(attempt), Dir: dir, Limits: limits})
	return string(result.Output), err
}

func outside(t *testing.T, dir, attempt string) string {
	t.Helper()
	program, err := probe()
	require.NoError(t, err)
	cmd := exec.Command(program)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(attempt)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func TestASlotRunsTheHandlerInItsOwnWorld(t *testing.T) {
	t.Setenv("TIDEGATE_SECRET", "hunter2")
	n := native(t, sandbox.Options{Idle: 1})
	out, err := inside(t, n, t.TempDir(), "identity", sandbox.Limits{})
	require.NoError(t, err)
	require.Equal(t, "done: dir=/work host=slot pid=1 warm=true env=PATH= HOME=/nonexistent TMPDIR=/tmp LANG=C.UTF-8 TIDEGATE_MOUNTS=/mounts", out)
	out, err = inside(t, n, t.TempDir(), "list /", sandbox.Limits{})
	require.NoError(t, err)
	require.Equal(t, "done: dev mounts tmp work", out)
}

func TestASlotReadsLargeInputAndWritesLargeOutput(t *testing.T) {
	n := native(t, sandbox.Options{Idle: 2})
	large := strings.Repeat("0123456789", 400_000)
	out, err := inside(t, n, t.TempDir(), "echo "+large, sandbox.Limits{})
	require.NoError(t, err)
	require.True(t, large == out)
}

func TestASlotReadsACheckoutThatIsClosedToOthers(t *testing.T) {
	n := native(t, sandbox.Options{Idle: 1})
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o600))
	out, err := inside(t, n, dir, "read file", sandbox.Limits{})
	require.NoError(t, err)
	require.Equal(t, "done: content", out)
}

func TestAJobThatPassesALimitOfItsSlotIsKilledAndItIsSaidWhich(t *testing.T) {
	t.Run("by cgroups, where there are any", func(t *testing.T) { limitsHold(t, native(t, sandbox.Options{Idle: 2})) })
	t.Run("by resource limits", func(t *testing.T) { limitsHold(t, native(t, sandbox.Options{Idle: 2, Rlimits: true})) })
}

func limitsHold(t *testing.T, n runner) {
	for name, c := range map[string]struct {
		limits sandbox.Limits
		kind   error
		text   string
	}{
		"spin":    {sandbox.Limits{Wall: 200 * time.Millisecond}, sandbox.ErrTimeout, "timed out: after 200ms"},
		"wait":    {sandbox.Limits{Wall: 200 * time.Millisecond}, sandbox.ErrTimeout, "timed out: after 200ms"},
		"flood":   {sandbox.Limits{Output: 1 << 20}, sandbox.ErrOutputLimit, "wrote too much: more than 1048576 bytes"},
		"grow":    {sandbox.Limits{Memory: 128 << 20}, sandbox.ErrMemoryLimit, "ran out of memory: the limit is 128 MiB"},
		"threads": {sandbox.Limits{Processes: 50}, sandbox.ErrProcessLimit, "started too many processes: the limit is 50"},
		"fill":    {sandbox.Limits{Tmp: 8 << 20}, sandbox.ErrTmpLimit, "filled its temporary folder: the limit is 8 MiB"},
		"panic":   {sandbox.Limits{}, sandbox.ErrCrashed, "crashed: exit status 2"},
		"fail":    {sandbox.Limits{}, sandbox.ErrCrashed, "crashed: exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := inside(t, n, t.TempDir(), name, c.limits)
			require.ErrorIs(t, err, c.kind, stderrOf(err))
			require.ErrorContains(t, err, c.text)
			require.NotContains(t, err.Error(), "hunter2", "it may quote a secret")
		})
	}
}

// stderrOf is what a job that failed wrote to standard error.
func stderrOf(err error) string {
	var e *sandbox.Error
	if errors.As(err, &e) {
		return e.Stderr
	}
	return ""
}

func TestWithinItsLimitsWhatPassesThemEndsWell(t *testing.T) {
	for _, options := range []sandbox.Options{{Idle: 1}, {Idle: 1, Rlimits: true}} {
		n := native(t, options)
		for _, name := range []string{"grow", "threads", "fill"} {
			out, err := inside(t, n, t.TempDir(), name, sandbox.Limits{})
			require.NoError(t, err, name)
			require.Contains(t, out, "done: ")
		}
	}
}

// A program of several threads is confined only when each of them is.
func TestEveryThreadOfASlotIsConfined(t *testing.T) {
	own, err := unix.Dup(1)
	require.NoError(t, err)
	defer func() { _ = unix.Close(own) }()
	const inherited = 200 // stays open on exec
	require.NoError(t, unix.Dup3(own, inherited, 0))
	defer func() { _ = unix.Close(inherited) }()
	n := native(t, sandbox.Options{Idle: 1, Max: 1})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	dir := t.TempDir()
	go func() {
		_, err := n.Run(ctx, sandbox.Job{Stdin: []byte("wait"), Dir: dir})
		ended <- err
	}()
	var slots []int
	require.Eventually(t, func() bool {
		if slots = children(t, os.Getpid()); len(slots) != 1 {
			return false
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", slots[0]))
		return strings.Contains(string(status), "Seccomp:\t2")
	}, 10*time.Second, 5*time.Millisecond)
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", slots[0]))
	require.NoError(t, err)
	require.Greater(t, len(threads), 1)
	for _, thread := range threads {
		data, err := os.ReadFile(thread)
		require.NoError(t, err)
		for _, line := range []string{
			"Uid:\t60600\t60600\t60600\t60600", "Gid:\t60600\t60600\t60600\t60600", "Groups:\t \n", "NoNewPrivs:\t1", "Seccomp:\t2",
			"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "CapAmb:\t0000000000000000",
		} {
			require.Contains(t, string(data), line)
		}
	}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", slots[0]))
	require.NoError(t, err)
	for _, file := range files {
		link, err := os.Readlink(file)
		require.NoError(t, err)
		require.False(t, filepath.Base(file) == strconv.Itoa(inherited), "what this process had inherited is closed: %s", link)
		require.Regexp(t, `^(pipe:|socket:|anon_inode:|/(.*/)?cpu\.[a-z_]+$)`, link, file+": no file of the host but the processor limit that the Go runtime reads")
	}
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestASlotProgramWithCgoIsRefusedAtOnce(t *testing.T) {
	needNative(t)
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("there is no C compiler to build one with")
	}
	dir := t.TempDir()
	program, err := buildProbe(dir+"/probe", "CGO_ENABLED=1")
	require.NoError(t, err)
	_, err = sandbox.NewNative(sandbox.Options{Program: program})
	require.ErrorContains(t, err, "build the slot program with CGO_ENABLED=0")
}
