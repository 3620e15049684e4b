package stack_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/deploy/local/stack"
)

func ready(context.Context) error { return nil }

func sleeper(name string) stack.Command {
	return stack.Command{Name: name, Argv: []string{"sleep", "1000"}}
}

func TestRunTellsWhyAProgramEnded(t *testing.T) {
	c := stack.Command{Name: "worker", Argv: []string{"sh", "-c", "echo cannot read tidegate.yaml; exit 3"}}
	_, err := stack.Run(t.Context(), t.TempDir(), c, func(context.Context) error { return fmt.Errorf("not yet") })
	require.ErrorContains(t, err, "worker ended: exit status 3")
	require.ErrorContains(t, err, "cannot read tidegate.yaml")
}

func TestRunEndsAProgramThatDoesNotBecomeReady(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	dir := t.TempDir()
	_, err := stack.Run(ctx, dir, sleeper("worker"), func(context.Context) error { return fmt.Errorf("queue not polled") })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "queue not polled")
	require.Empty(t, processes(t, dir))
}

func TestRunRefusesASecondProgramOfTheName(t *testing.T) {
	dir := t.TempDir()
	p, err := stack.Run(t.Context(), dir, sleeper("worker"), ready)
	require.NoError(t, err)
	_, err = stack.Run(t.Context(), dir, sleeper("worker"), ready)
	require.ErrorContains(t, err, fmt.Sprintf("it runs already, as process %d", p.PID()))
	found, runs := stack.Find(dir, "worker")
	require.True(t, runs)
	require.Equal(t, p.PID(), found.PID())
	require.NoError(t, found.Kill())
	// Another handle has seen it go; this one is told by the goroutine that waits for it.
	require.Eventually(t, func() bool { return !p.Alive() }, 10*time.Second, time.Millisecond)
}

func TestStopKillsAProgramThatIgnoresTheRequest(t *testing.T) {
	dir := t.TempDir()
	trap := filepath.Join(dir, "trapped")
	c := stack.Command{Name: "stubborn", Argv: []string{"sh", "-c", `trap "" TERM; touch "$0"; while :; do sleep 0.1; done`, trap}}
	p, err := stack.Run(t.Context(), dir, c, func(context.Context) error { _, err := os.Stat(trap); return err })
	require.NoError(t, err)
	require.NoError(t, p.Stop(50*time.Millisecond))
	require.False(t, p.Alive())
	require.NoError(t, p.Stop(time.Second), "stopping again is fine")
}

func TestAPidFileOfAnotherProcessNeverEndsIt(t *testing.T) {
	dir := t.TempDir()
	stranger := exec.CommandContext(t.Context(), "sleep", "1000")
	require.NoError(t, stranger.Start())
	defer stranger.Process.Kill() //nolint:errcheck // the test is over

	_, err := stack.Run(t.Context(), dir, sleeper("worker"), ready)
	require.NoError(t, err)
	pidFile := filepath.Join(dir, "run", "worker.pid")
	text, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	own, _ := stack.Find(dir, "worker")
	_, started, _ := strings.Cut(string(text), " ")
	ticks, err := strconv.Atoi(strings.TrimSpace(started))
	require.NoError(t, err)
	// The number of our process is the stranger's now, which started later.
	require.NoError(t, os.WriteFile(pidFile, fmt.Appendf(nil, "%d %d\n", stranger.Process.Pid, ticks-100), 0o600))

	_, runs := stack.Find(dir, "worker")
	require.False(t, runs)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "stack.lock"), nil, 0o600))
	ended, err := stack.Down(dir)
	require.NoError(t, err)
	require.Zero(t, ended)
	require.NoError(t, syscall.Kill(stranger.Process.Pid, 0))
	require.NoError(t, own.Kill())
}

// The test below runs this one in a process of its own, with the folder to use as an argument.
func TestHelperRunsAnAttachedProgram(t *testing.T) {
	if flag.NArg() == 0 {
		t.Skip("only of use to another test")
	}
	p, err := stack.Run(t.Context(), flag.Arg(0), sleeper("attached"), ready)
	require.NoError(t, err)
	fmt.Println("started", p.PID())
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until the other test kills us
}

func TestAnAttachedProgramDiesWithAProcessThatIsKilled(t *testing.T) {
	parent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHelperRunsAnAttachedProgram$", t.TempDir())
	_, err := parent.StdinPipe()
	require.NoError(t, err)
	output, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	var pid int
	for lines := bufio.NewScanner(output); pid == 0 && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "started %d", &pid)
	}
	require.NotZero(t, pid)
	require.NoError(t, syscall.Kill(pid, 0))

	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	gone(t, pid)
}
