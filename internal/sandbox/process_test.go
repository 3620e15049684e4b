package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/sandbox"
)

func run(t *testing.T, limits sandbox.Limits, stdin string, args ...string) (sandbox.Result, error) {
	t.Helper()
	return sandbox.Process{}.Run(t.Context(), job(t, limits, stdin, args...))
}

func job(t *testing.T, limits sandbox.Limits, stdin string, args ...string) sandbox.Job {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return sandbox.Job{Path: self, Args: args, Stdin: []byte(stdin), Dir: t.TempDir(), Limits: limits}
}

func TestWhatAProgramWritesIsReturned(t *testing.T) {
	large := strings.Repeat("0123456789", 200_000)
	result, err := run(t, sandbox.Limits{}, large, "echo")
	require.NoError(t, err)
	require.True(t, bytes.Equal([]byte(large), result.Output))
}

func TestAProgramFindsItsMounts(t *testing.T) {
	values := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(values, "a"), []byte("of values"), 0o600))
	j := job(t, sandbox.Limits{}, "", "read-mount")
	j.Mounts = []sandbox.Mount{{Name: "values", Dir: values}}
	result, err := sandbox.Process{}.Run(t.Context(), j)
	require.NoError(t, err)
	require.Equal(t, "of values", string(result.Output))
	for _, name := range []string{"", "..", "a/b", "values"} {
		j.Mounts = []sandbox.Mount{{Name: "values", Dir: values}, {Name: name, Dir: values}}
		_, err = sandbox.Process{}.Run(t.Context(), j)
		require.ErrorIs(t, err, sandbox.ErrStart, "%q", name)
	}
}

func TestAProgramMayLeaveItsInputUnread(t *testing.T) {
	result, err := run(t, sandbox.Limits{}, strings.Repeat("x", 1<<22), "read-nothing")
	require.NoError(t, err)
	require.Equal(t, "done", string(result.Output))
}

func TestAProgramGetsNothingOfOurEnvironment(t *testing.T) {
	t.Setenv("TIDEGATE_SECRET", "hunter2")
	j := job(t, sandbox.Limits{Memory: 1 << 30}, "", "environment")
	result, err := sandbox.Process{}.Run(t.Context(), j)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(result.Output)), "\n")
	dir, err := filepath.EvalSymlinks(j.Dir)
	require.NoError(t, err)
	var scratch string
	for i, line := range lines {
		if strings.HasPrefix(line, "TMPDIR=") {
			scratch = strings.TrimPrefix(line, "TMPDIR=")
			lines[i] = "TMPDIR=scratch"
		}
		if strings.HasPrefix(line, sandbox.MountsVariable+"=") {
			lines[i] = "mounts"
		}
	}
	require.ElementsMatch(t, []string{
		"dir=" + dir, "PATH=", "HOME=/nonexistent", "TMPDIR=scratch", "mounts", "LANG=C.UTF-8", "GOMEMLIMIT=805306368",
	}, lines)
	require.NoDirExists(t, scratch, "what it wrote to its own temporary folder is gone")
}

func TestAProgramThatPassesALimitIsKilledAndItIsSaidWhich(t *testing.T) {
	for name, c := range map[string]struct {
		limits sandbox.Limits
		kind   error
		text   string
	}{
		"spin":  {sandbox.Limits{Wall: 200 * time.Millisecond}, sandbox.ErrTimeout, "timed out: after 200ms"},
		"wait":  {sandbox.Limits{Wall: 200 * time.Millisecond}, sandbox.ErrTimeout, "timed out: after 200ms"},
		"flood": {sandbox.Limits{Output: 1 << 20}, sandbox.ErrOutputLimit, "wrote too much: more than 1048576 bytes"},
		"panic": {sandbox.Limits{}, sandbox.ErrCrashed, "crashed: exit status 2"},
		"grow":  {sandbox.Limits{Memory: 256 << 20}, sandbox.ErrMemoryLimit, "ran out of memory: the limit is 256 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, c.limits, "", name)
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.text)
		})
	}
}

func TestTheEndOfStandardErrorIsKeptApartFromTheMessage(t *testing.T) {
	_, err := run(t, sandbox.Limits{}, "", "panic")
	var failure *sandbox.Error
	require.ErrorAs(t, err, &failure)
	require.Contains(t, failure.Stderr, "this is the end")
	require.NotContains(t, err.Error(), "this is the end", "it may quote a secret")
	require.LessOrEqual(t, len(failure.Stderr), 8<<10)
}

func TestAProgramThatIsNotThereIsSaidToBeMissing(t *testing.T) {
	_, err := sandbox.Process{}.Run(t.Context(), sandbox.Job{Path: filepath.Join(t.TempDir(), "absent"), Dir: t.TempDir()})
	require.ErrorIs(t, err, sandbox.ErrStart)
	require.ErrorContains(t, err, "absent")
}

func TestNothingOfTheGroupLivesOnWhenTheContextEnds(t *testing.T) {
	report := filepath.Join(t.TempDir(), "child")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	j := job(t, sandbox.Limits{}, "", "parent", report)
	go func() {
		_, err := sandbox.Process{}.Run(ctx, j)
		done <- err
	}()
	var child int
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(report)
		child, _ = strconv.Atoi(string(data))
		return err == nil && child > 0
	}, 10*time.Second, 5*time.Millisecond)
	require.NoError(t, syscall.Kill(child, 0), "the grandchild runs")
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Eventually(t, func() bool { return gone(child) }, 10*time.Second, 5*time.Millisecond)
}

// gone says whether a process has ended; one that nobody has waited for yet has.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestCommandsRunInACopyWithoutASandboxToo(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "app"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "app", "file"), []byte("content"), 0o600))
	result, err := sandbox.Process{}.Run(t.Context(), sandbox.Job{Dir: dir, Subdir: "app", Env: []string{"NAME=value"}, Commands: []sandbox.Command{
		{"sh", "-c", "echo first; echo changed > file"}, {"sh", "-c", `cat file; echo "$NAME"`},
	}})
	require.NoError(t, err)
	require.Equal(t, "changed\nvalue\n", string(result.Output))
	require.Equal(t, "first\n", result.Stderr)
	require.FileExists(t, filepath.Join(dir, "app", "file"))
	_, err = sandbox.Process{}.Run(t.Context(), sandbox.Job{Dir: dir, Commands: []sandbox.Command{{"sh", "-c", "echo why >&2; exit 3"}}})
	require.ErrorIs(t, err, sandbox.ErrCrashed)
	_, err = sandbox.Process{}.Run(t.Context(), sandbox.Job{Dir: dir, Commands: []sandbox.Command{{"sh", "-c", "while :; do :; done"}}, Limits: sandbox.Limits{Wall: 200 * time.Millisecond}})
	require.ErrorIs(t, err, sandbox.ErrTimeout)
}
