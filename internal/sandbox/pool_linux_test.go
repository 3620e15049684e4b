package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/sandbox"
)

// recorder counts what the pool reports.
type recorder struct {
	mu              sync.Mutex
	taken, replaced int
	failed          []error
}

func (r *recorder) SlotTaken(time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken++
}

func (r *recorder) SlotReplaced(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replaced++
	if err != nil {
		r.failed = append(r.failed, err)
	}
}

func (r *recorder) counts() (taken, replaced int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken, r.replaced
}

func TestASlotIsUsedOnceAndReplaced(t *testing.T) {
	r := &recorder{}
	n := native(t, sandbox.Options{Idle: 2, Observer: r})
	out, err := inside(t, n, t.TempDir(), "write /tmp/left", sandbox.Limits{})
	require.NoError(t, err)
	require.Equal(t, "done: ", out)
	for range 4 {
		out, err = inside(t, n, t.TempDir(), "read /tmp/left", sandbox.Limits{})
		require.NoError(t, err)
		require.Contains(t, out, "refused: ", "what a job leaves in /tmp is not seen by the next")
	}
	require.Eventually(t, func() bool {
		taken, replaced := r.counts()
		return taken == 5 && replaced == 7 && n.Stats() == sandbox.Stats{Idle: 2}
	}, 10*time.Second, 5*time.Millisecond, "five were used and two wait")
	require.Empty(t, r.failed)
}

func TestThePoolGrowsToItsBoundAndShrinksAgain(t *testing.T) {
	n := native(t, sandbox.Options{Idle: 1, Max: 3})
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 4)
	for range 4 {
		go func() {
			_, err := n.Run(ctx, sandbox.Job{Stdin: []byte("wait"), Dir: dir})
			ended <- err
		}()
	}
	require.Eventually(t, func() bool { return n.Stats() == sandbox.Stats{Busy: 3} }, 10*time.Second, 5*time.Millisecond)
	cancel()
	for range 4 {
		require.ErrorIs(t, <-ended, context.Canceled)
	}
	require.Eventually(t, func() bool { return n.Stats() == sandbox.Stats{Idle: 1} }, 10*time.Second, 5*time.Millisecond)
}

func TestJobsRunAtTheSameTimeDoNotMix(t *testing.T) {
	n := native(t, sandbox.Options{Idle: 3, Max: 6})
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			result, err := n.Run(t.Context(), sandbox.Job{Stdin: []byte("echo " + strconv.Itoa(i)), Dir: dir})
			if err != nil || string(result.Output) != strconv.Itoa(i) {
				t.Errorf("job %d: %q, %v", i, result.Output, err)
			}
		})
	}
	all.Wait()
}

func TestAClosedSandboxRunsNothing(t *testing.T) {
	n := native(t, sandbox.Options{Idle: 1})
	ended := make(chan error, 1)
	dir := t.TempDir()
	go func() {
		_, err := n.Run(t.Context(), sandbox.Job{Stdin: []byte("wait"), Dir: dir})
		ended <- err
	}()
	require.Eventually(t, func() bool { return n.Stats().Busy == 1 }, 10*time.Second, 5*time.Millisecond)
	require.NoError(t, n.Close())
	require.ErrorContains(t, <-ended, "the sandbox is closed")
	_, err := inside(t, n, dir, "identity", sandbox.Limits{})
	require.ErrorContains(t, err, "the sandbox is closed")
}

func TestACommandIsRefusedAsItIsNotRunYet(t *testing.T) {
	n := native(t, sandbox.Options{Idle: 1})
	for _, job := range []sandbox.Job{{Path: "/bin/true"}, {Args: []string{"x"}}, {Path: "/absent"}} {
		_, err := n.Run(t.Context(), job)
		require.ErrorIs(t, err, sandbox.ErrStart)
	}
	program, err := probe()
	require.NoError(t, err)
	_, err = n.Run(t.Context(), sandbox.Job{Path: program, Dir: t.TempDir(), Stdin: []byte("echo x")})
	require.NoError(t, err, "the slot program itself may be named")
}

func TestAMissingFolderIsSaid(t *testing.T) {
	n := native(t, sandbox.Options{Idle: 1})
	_, err := inside(t, n, "/absent", "identity", sandbox.Limits{})
	require.ErrorIs(t, err, sandbox.ErrStart)
	require.ErrorContains(t, err, "bind the folder /absent: no such file or directory")
}

func TestAProgramThatIsNoSlotProgramIsRefused(t *testing.T) {
	needNative(t)
	for program, text := range map[string]string{
		"/absent/program": "find the slot program",
		"/bin/true":       "call sandbox.ServeSlot first thing in main",
	} {
		_, err := sandbox.NewNative(sandbox.Options{Program: program})
		require.ErrorContains(t, err, text)
	}
}

func TestNothingIsLeftOfAWorkerThatIsKilled(t *testing.T) {
	program := needNative(t)
	self, err := os.Executable()
	require.NoError(t, err)
	worker := exec.Command(self, "worker", program, t.TempDir())
	out, err := worker.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, worker.Start())
	t.Cleanup(func() { _ = worker.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "idle 2 busy 1\n", line)
	slots := children(t, worker.Process.Pid)
	require.Len(t, slots, 3)
	var groups []string
	for _, pid := range slots {
		groups = append(groups, groupsOf(t, pid)...)
	}
	require.Len(t, groups, 6, "a memory and a pids cgroup each")
	require.NoError(t, worker.Process.Kill())
	_ = worker.Wait()
	for _, pid := range slots {
		require.Eventually(t, func() bool { return gone(pid) }, 10*time.Second, 5*time.Millisecond)
	}
	for _, dir := range groups {
		require.Eventually(t, func() bool {
			pids, err := os.ReadFile(dir + "/cgroup.procs")
			return err != nil || len(pids) == 0
		}, 10*time.Second, 5*time.Millisecond, "its processes are reaped")
	}
	n := native(t, sandbox.Options{Idle: 1})
	for _, dir := range groups {
		require.NoDirExists(t, dir, "the next worker sweeps it")
		require.NoDirExists(t, filepath.Dir(dir))
	}
	_, err = inside(t, n, t.TempDir(), "identity", sandbox.Limits{})
	require.NoError(t, err)
}

func TestNothingIsLeftOfASandboxThatIsClosed(t *testing.T) {
	n := native(t, sandbox.Options{Idle: 3})
	require.Eventually(t, func() bool { return n.Stats().Idle == 3 }, 10*time.Second, 5*time.Millisecond)
	slots := children(t, os.Getpid())
	require.NotEmpty(t, slots)
	groups := groupsOf(t, slots[0])
	require.NoError(t, n.Close())
	for _, pid := range slots {
		require.True(t, gone(pid))
	}
	for _, dir := range groups {
		require.NoDirExists(t, filepath.Dir(dir))
	}
}

// children returns the processes that a process has started and that are slots.
func children(t *testing.T, pid int) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // the thread has ended
		}
		require.NoError(t, err)
		for field := range strings.FieldsSeq(string(data)) {
			child, err := strconv.Atoi(field)
			require.NoError(t, err)
			if name, _ := os.ReadFile("/proc/" + field + "/cmdline"); string(name) == "tidegate-slot\x00" {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// groupsOf returns the folders of a slot's cgroups.
func groupsOf(t *testing.T, pid int) (dirs []string) {
	t.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if f[1] == "memory" || f[1] == "pids" {
			dirs = append(dirs, "/sys/fs/cgroup/"+f[1]+f[2])
			require.DirExists(t, dirs[len(dirs)-1])
		}
	}
	return dirs
}
