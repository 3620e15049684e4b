package sandbox_test

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/sandbox"
)

func init() {
	programs["gvisor-worker"] = func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // the main of this program
		defer stop()
		g, err := sandbox.NewGVisor(sandbox.GVisorOptions{Runsc: os.Args[2], Program: os.Args[3]})
		if err != nil {
			panic(err)
		}
		_, err = g.Run(ctx, sandbox.Job{Stdin: []byte("wait"), Dir: os.Args[4]})
		panic(err)
	}
}

// gvisor is a sandbox of gVisor, where its program is found: in PATH, or where
// `make tools` puts it.
func gvisor(t *testing.T) *sandbox.GVisor {
	t.Helper()
	g, err := sandbox.NewGVisor(gvisorOptions(t))
	if err != nil {
		t.Skip("no sandbox of gVisor here: " + err.Error())
	}
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	require.NoError(t, g.Try(t.Context()))
	return g
}

func gvisorOptions(t *testing.T) sandbox.GVisorOptions {
	t.Helper()
	program := needNative(t)
	runsc, err := sandbox.Find("runsc")
	if err != nil {
		runsc, _ = filepath.Abs("../../.local/bin/runsc")
	}
	if _, err := os.Stat(runsc); err != nil {
		t.Skip("there is no runsc here; make runsc builds it")
	}
	return sandbox.GVisorOptions{Runsc: runsc, Program: program}
}

func TestAContainerRunsTheHandlerInItsOwnWorld(t *testing.T) {
	g := gvisor(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("content"), 0o600))
	out, err := handlerOf(g)(t, dir, "read file")
	require.NoError(t, err)
	require.Equal(t, "done: content", out)
	out, err = handlerOf(g)(t, dir, "identity")
	require.NoError(t, err)
	require.Contains(t, out, "done: dir=/work host=slot pid=1 ")
}

func TestAttacksAreRefusedInAContainer(t *testing.T) {
	g := gvisor(t)
	t.Run("as a handler", func(t *testing.T) { attacksAreRefused(t, handlerOf(g), kind{}) })
	t.Run("as a command", func(t *testing.T) { attacksAreRefused(t, commandOf(t, g), kind{commands: true}) })
}

func TestAJobThatPassesALimitOfItsContainerIsKilledAndItIsSaidWhich(t *testing.T) {
	g := gvisor(t)
	t.Run("as a handler", func(t *testing.T) { limitsHold(t, g) })
	t.Run("as a command", func(t *testing.T) { commandLimitsHold(t, g) })
}

func TestNothingIsLeftOfAContainerWhoseWorkerIsKilled(t *testing.T) {
	gvisor(t) // or skip
	o, dir := gvisorOptions(t), t.TempDir()
	worker := exec.Command(os.Args[0], "gvisor-worker", o.Runsc, o.Program, dir)
	worker.Stderr = os.Stderr
	require.NoError(t, worker.Start())
	// What is in the container's specification, and in the command lines of gVisor's
	// processes, is its bundle, whose configuration names the job's folder.
	require.Eventually(t, func() bool { return len(containersOf(t, dir)) >= 3 }, 20*time.Second, 10*time.Millisecond, "runsc, its gofer and its kernel run")
	require.NoError(t, worker.Process.Kill())
	require.Error(t, worker.Wait())
	require.Eventually(t, func() bool { return len(containersOf(t, dir)) == 0 }, 20*time.Second, 10*time.Millisecond)
	// The next one sweeps what the kernel could not, but for cgroups in which a process
	// is still ending.
	require.Eventually(t, func() bool {
		g, err := sandbox.NewGVisor(o)
		require.NoError(t, err)
		require.NoError(t, g.Close())
		left, err := filepath.Glob("/sys/fs/cgroup/pids/tidegate-*/slot-*")
		require.NoError(t, err)
		return len(left) == 0
	}, 20*time.Second, 10*time.Millisecond)
	bundles, err := filepath.Glob(filepath.Join(os.TempDir(), "tidegate-gvisor-*", "*"))
	require.NoError(t, err)
	require.Empty(t, bundles)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	require.NotContains(t, string(mounts), "tidegate-gvisor-")
}

// containersOf lists the processes of containers for a folder.
func containersOf(t *testing.T, dir string) (pids []string) {
	t.Helper()
	bundles, err := filepath.Glob(filepath.Join(os.TempDir(), "tidegate-gvisor-*", "tidegate-bundle-*"))
	require.NoError(t, err)
	for _, bundle := range bundles {
		if spec, _ := os.ReadFile(filepath.Join(bundle, "config.json")); !strings.Contains(string(spec), `"`+dir+`"`) {
			continue
		}
		files, err := filepath.Glob("/proc/[0-9]*/cmdline")
		require.NoError(t, err)
		for _, file := range files {
			if line, _ := os.ReadFile(file); strings.Contains(string(line), bundle) {
				pids = append(pids, file)
			}
		}
	}
	return pids
}
