package stack_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/deploy/local/stack"
	"github.com/tidegate/tidegate/deploy/local/stack/stacktest"
)

// detached are the options of a stack as people have it, with one region.
func detached(t *testing.T) stack.Options {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: starts no servers")
	}
	o := stack.Options{Dir: t.TempDir(), Regions: stack.Demo(1), Detached: true}
	t.Cleanup(func() {
		_, err := stack.Down(o.Dir)
		require.NoError(t, err)
	})
	return o
}

// up is stack.Up for a test.
func up(t *testing.T, o stack.Options) (*stack.Stack, bool) {
	t.Helper()
	s, already, err := stack.Up(t.Context(), o)
	stacktest.Require(t, err)
	return s, already
}

// processes returns the numbers in the folder's pid files that are running processes.
func processes(t *testing.T, dir string) []int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "run", "*.pid"))
	require.NoError(t, err)
	var running []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		number, _, _ := strings.Cut(string(text), " ")
		pid, err := strconv.Atoi(number)
		require.NoError(t, err)
		if syscall.Kill(pid, 0) == nil {
			running = append(running, pid)
		}
	}
	return running
}

// gone waits for the system to forget a process that has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	eventually(t, "the process is gone", func(context.Context) (bool, any) {
		err := syscall.Kill(pid, 0)
		return errors.Is(err, syscall.ESRCH), err
	})
}

func TestUpRevivesWhatHasDiedAndDownLeavesNothing(t *testing.T) {
	o := detached(t)
	s, already := up(t, o)
	require.False(t, already)
	id, etcdAndAll := clusterID(t, s.Regions[0]), processes(t, o.Dir)
	require.Len(t, etcdAndAll, 3) // etcd, the API server, the controllers

	again, already := up(t, o)
	require.True(t, already)
	require.Equal(t, s.Regions[0].PID(), again.Regions[0].PID())

	o.Regions = stack.Demo(2)
	_, _, err := stack.Up(t.Context(), o)
	require.ErrorContains(t, err, "make down")
	o.Regions = stack.Demo(1)

	require.NoError(t, again.Regions[0].Kill())
	revived, already := up(t, o)
	require.False(t, already)
	require.Equal(t, id, clusterID(t, revived.Regions[0]), "it has what it had")

	for _, part := range revived.Status(t.Context()) {
		require.True(t, part.Ready(), "%+v", part)
	}
	pids := processes(t, o.Dir)
	ended, err := stack.Down(o.Dir)
	require.NoError(t, err)
	require.Equal(t, 3, ended)
	for _, pid := range pids {
		gone(t, pid)
	}
	left, err := os.ReadDir(o.Dir)
	require.NoError(t, err)
	require.Empty(t, left)
	_, err = stack.Open(o.Dir)
	require.ErrorIs(t, err, stack.ErrNone)
}

func TestUpReplacesAStackThatNeverBecameReady(t *testing.T) {
	o := detached(t)
	s, _ := up(t, o)
	id, pid := clusterID(t, s.Regions[0]), s.Regions[0].PID()
	// What a start leaves that was killed before its end.
	state := filepath.Join(o.Dir, "stack.json")
	text, err := os.ReadFile(state)
	require.NoError(t, err)
	incomplete := strings.Replace(string(text), `"complete": true`, `"complete": false`, 1)
	require.NotEqual(t, string(text), incomplete)
	require.NoError(t, os.WriteFile(state, []byte(incomplete), 0o600))

	var told []string
	o.Progress = func(line string) { told = append(told, line) }
	s, already := up(t, o)
	require.False(t, already)
	require.NotEqual(t, id, clusterID(t, s.Regions[0]))
	gone(t, pid)
	require.Contains(t, strings.Join(told, "\n"), "left 3 processes")
}

func TestUpThatIsInterruptedLeavesNoProcess(t *testing.T) {
	o := detached(t)
	ctx, interrupt := context.WithCancel(t.Context())
	var started []int
	o.Progress = func(line string) {
		if strings.HasPrefix(line, "etcd") {
			started = processes(t, o.Dir)
			interrupt()
		}
	}
	_, _, err := stack.Up(ctx, o)
	if errors.Is(err, stack.ErrMissingTool) {
		stacktest.Require(t, err)
	}
	require.ErrorIs(t, err, context.Canceled)
	require.NotEmpty(t, started)
	for _, pid := range started {
		gone(t, pid)
	}
	require.Empty(t, processes(t, o.Dir))
	require.NoFileExists(t, filepath.Join(o.Dir, "stack.json"))
}

func TestTakenPortIsNamedWithItsHolderAndItsVariable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port

	o := detached(t)
	o.Ports.Region = port
	_, _, err = stack.Up(t.Context(), o)
	if errors.Is(err, stack.ErrMissingTool) {
		stacktest.Require(t, err)
	}
	var taken *stack.PortTakenError
	require.ErrorAs(t, err, &taken)
	require.Equal(t, port, taken.Number)
	require.ErrorContains(t, err, fmt.Sprintf("listen on port %d for the regions", port))
	require.ErrorContains(t, err, fmt.Sprintf("make up REGION_PORT=%d", port+10000))
	require.ErrorContains(t, err, fmt.Sprintf("(pid %d)", os.Getpid()))
}

func TestVariablesMovePorts(t *testing.T) {
	variables := map[string]string{"TEMPORAL_PORT": "7000", "REGION_PORT": "7100"}
	ports := stack.DemoPorts()
	require.NoError(t, ports.Override(func(name string) string { return variables[name] }))
	want := stack.DemoPorts()
	want.Temporal, want.Region = 7000, 7100
	require.Equal(t, want, ports)

	variables["ETCD_PORT"], variables["API_PORT"] = "none", "70000"
	err := ports.Override(func(name string) string { return variables[name] })
	require.ErrorContains(t, err, `ETCD_PORT: want a port from 1 to 65535, got "none"`)
	require.ErrorContains(t, err, `API_PORT: want a port from 1 to 65535, got "70000"`)
}

func TestDemoRegionsHaveAProductionWheneverThereAreThree(t *testing.T) {
	names := func(n int) string {
		var all []string
		for _, r := range stack.Demo(n) {
			all = append(all, r.Name)
		}
		return strings.Join(all, " ")
	}
	require.Equal(t, "dev-1 staging-1 staging-2 eu-1 eu-2 eu-3 eu-4 us-1 us-2 us-3", names(10))
	require.Equal(t, "dev-1", names(1))
	require.Equal(t, "dev-1 staging-1", names(2))
	require.Equal(t, "dev-1 staging-1 eu-1", names(3))
	require.Equal(t, "dev-1 staging-1 staging-2 eu-1 us-1", names(5))
	for n := range 30 {
		require.Len(t, stack.Demo(n), n)
	}
}
