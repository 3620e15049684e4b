package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/tidegate/tidegate/internal/sandbox"
)

func init() { programs["worker"] = worker }

// worker keeps a pool, with one job that never ends, until it is killed.
func worker() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // the main of this program
	defer stop()
	n, err := sandbox.NewNative(sandbox.Options{Program: os.Args[2], Idle: 2})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		_, _ = n.Run(ctx, sandbox.Job{Stdin: []byte("wait"), Dir: os.Args[3]})
	}()
	for range time.Tick(5 * time.Millisecond) {
		if n.Stats() == (sandbox.Stats{Idle: 2, Busy: 1}) {
			break
		}
	}
	fmt.Println("idle 2 busy 1")
	select {}
}

// asNobody is the test binary as a user without rights. It is started through a
// descriptor, as its folder may be closed to others.
func asNobody(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = self.Close() })
	cmd := exec.CommandContext(t.Context(), "/proc/self/fd/3", args...)
	cmd.Dir, cmd.ExtraFiles = "/", []*os.File{self}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return cmd
}
