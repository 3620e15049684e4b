package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/sandbox"
)

// runner is a sandbox of any kind.
type runner interface {
	Run(ctx context.Context, job sandbox.Job) (sandbox.Result, error)
}

// shell runs lines of a shell in a slot.
func shell(t *testing.T, n runner, dir, script string, limits sandbox.Limits) (sandbox.Result, error) {
	t.Helper()
	return n.Run(t.Context(), sandbox.Job{Dir: dir, Commands: []sandbox.Command{{"sh", "-c", script}}, Env: []string{"NAME=value of a plugin"}, Limits: limits})
}

func TestCommandsRunOneAfterTheOtherInAWritableCopy(t *testing.T) {
	n := native(t, sandbox.Options{Idle: 1})
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "app"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "app", "file"), []byte("content"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "script"), []byte("#!/bin/sh\necho of the repository\n"), 0o700))
	result, err := n.Run(t.Context(), sandbox.Job{Dir: dir, Subdir: "app", Commands: []sandbox.Command{
		{"sh", "-c", "echo first; cat file > made; echo changed > file; ../script > /tmp/out"},
		{"sh", "-c", `cat made file /tmp/out; basename "$PWD"; echo "$NAME $HOME"; cat /dev/null; ls /`},
	}, Env: []string{"NAME=value"}})
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(result.Output)), "\n")
	require.Equal(t, []string{"contentchanged", "of the repository", "app", "value /tmp"}, lines[:4])
	require.NotContains(t, lines, "scratch")
	require.NotContains(t, lines, "checkout")
	require.NotContains(t, lines, "home")
	require.Equal(t, "first\n", result.Stderr)
	data, err := os.ReadFile(filepath.Join(dir, "app", "file"))
	require.NoError(t, err)
	require.Equal(t, "content", string(data), "the checkout is as it was")
	_, err = os.Stat(filepath.Join(dir, "app", "made"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestCommandsFindTheRootThatTheyAreGiven(t *testing.T) {
	n := native(t, sandbox.Options{Idle: 1})
	program, err := probe()
	require.NoError(t, err)
	data, err := os.ReadFile(program)
	require.NoError(t, err)
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "opt/bin"), 0o755))
	require.NoError(t, os.Chmod(root, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "opt/bin/probe"), data, 0o755))
	require.NoError(t, os.Symlink("opt/bin", filepath.Join(root, "bin")))
	require.NoError(t, os.WriteFile(filepath.Join(root, "top"), []byte("a file"), 0o644))
	result, err := n.Run(t.Context(), sandbox.Job{Dir: t.TempDir(), Root: root, Commands: []sandbox.Command{{"/bin/probe", "list", "/"}}})
	require.NoError(t, err)
	require.Equal(t, "done: bin dev mounts opt proc tmp top work", string(result.Output))
}

func TestACommandThatFailsEndsTheJob(t *testing.T) {
	n := native(t, sandbox.Options{Idle: 1})
	_, err := n.Run(t.Context(), sandbox.Job{Dir: t.TempDir(), Commands: []sandbox.Command{{"sh", "-c", "echo why >&2; exit 3"}, {"sh", "-c", "echo not reached"}}})
	var e *sandbox.Error
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, sandbox.ErrCrashed)
	require.Equal(t, "why\nsh ended with exit status 3\n", e.Stderr)
	_, err = n.Run(t.Context(), sandbox.Job{Dir: t.TempDir(), Commands: []sandbox.Command{{"no-such-program"}}})
	require.ErrorAs(t, err, &e)
	require.Contains(t, e.Stderr, "no-such-program")
}

func TestCommandsThatPassALimitAreKilledAndItIsSaidWhich(t *testing.T) {
	n := native(t, sandbox.Options{Idle: 1})
	commandLimitsHold(t, n)
}

func commandLimitsHold(t *testing.T, n runner) {
	for name, c := range map[string]struct {
		script string
		limits sandbox.Limits
		kind   error
	}{
		"a busy loop":              {"while :; do :; done", sandbox.Limits{Wall: 300 * time.Millisecond}, sandbox.ErrTimeout},
		"one that is stopped":      {"kill -STOP $$", sandbox.Limits{Wall: 300 * time.Millisecond}, sandbox.ErrTimeout},
		"one that stops the first": {"kill -STOP 1; while :; do :; done", sandbox.Limits{Wall: 300 * time.Millisecond}, sandbox.ErrTimeout},
		"gigabytes of output":      {"while :; do echo 0123456789012345678901234567890123456789; done", sandbox.Limits{Output: 1 << 16}, sandbox.ErrOutputLimit},
		"much memory":              {"x=0123456789; while :; do x=$x$x; done", sandbox.Limits{Memory: 64 << 20}, sandbox.ErrMemoryLimit},
		"a fork bomb":              {"f() { f & f; }; f", sandbox.Limits{Wall: 5 * time.Second, Processes: 40}, sandbox.ErrProcessLimit},
		"a full /tmp":              {"while cat /bin/sh >> /tmp/file; do :; done; exit 1", sandbox.Limits{Tmp: 4 << 20}, sandbox.ErrTmpLimit},
		"a full checkout":          {"while cat /bin/sh >> file; do :; done; exit 1", sandbox.Limits{Tmp: 4 << 20}, sandbox.ErrTmpLimit},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := shell(t, n, t.TempDir(), c.script, c.limits)
			require.ErrorIs(t, err, c.kind, stderrOf(err))
		})
	}
}

func TestAGrandchildThatLeavesEndsWithTheJob(t *testing.T) {
	n := native(t, sandbox.Options{Idle: 1, Max: 1})
	for range 2 { // the one slot there may be is free again
		_, err := shell(t, n, t.TempDir(), "setsid sh -c 'while :; do :; done' > /dev/null 2>&1 & exit 0", sandbox.Limits{})
		require.NoError(t, err)
	}
}
