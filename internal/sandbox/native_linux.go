package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Native runs jobs in slots: processes of the slot program, each in namespaces
// of its own, started ahead, used once and replaced. A job runs the handler that
// the slot program gave to ServeSlot, or its commands; neither reaches a network, a
// process or a file of the host but the job's folders and tools, which it can only
// read.
type Native struct {
	options Options
	program *os.File
	own     bool     // slots run as this process's own user, and open their folders themselves
	cgroups *cgroups // nil where resource limits do their work
	forks   *forks
	numbers chan int   // of the slots that may be started
	idle    chan *slot // all idle ones but the one that fill holds
	alive   atomic.Int64
	busy    atomic.Int64
	closed  chan struct{}
	filling sync.WaitGroup

	mu      sync.Mutex // of the two below
	ending  bool
	running sync.WaitGroup
}

// NewNative starts the slots. It returns an error that says what is missing when
// this host cannot keep a promise of the sandbox; nothing runs then. Slots run
// under user ids of their own where this process is root and may give them away,
// and as its own user elsewhere. Memory and processes are bounded by cgroups of
// version 1, or by resource limits where there are none that this process can
// make.
func NewNative(options Options) (_ *Native, err error) {
	n := &Native{options: options.withDefaults(), closed: make(chan struct{})}
	if n.own, err = runsAsItself(n.options); err != nil {
		return nil, fmt.Errorf("make the native sandbox: %w", err)
	}
	path, err := Find(n.options.Program)
	if err != nil {
		return nil, fmt.Errorf("find the slot program: %w", err)
	}
	if n.program, err = os.Open(path); err != nil { //nolint:gosec // the operator's setting
		return nil, fmt.Errorf("open the slot program: %w", err)
	}
	if !n.options.Rlimits {
		// Without them resource limits bound the slots, of which each has a user id of
		// its own: less exactly, and with less to say about it.
		n.cgroups, _ = openCgroups()
	}
	n.forks = newForks()
	n.numbers, n.idle = make(chan int, n.options.Max), make(chan *slot, n.options.Idle-1)
	for number := range n.options.Max {
		n.numbers <- number
	}
	if err := n.try(); err != nil {
		n.forks.close()
		return nil, errors.Join(fmt.Errorf("make the native sandbox: %w", err), n.cgroups.close(), n.program.Close())
	}
	n.filling.Add(1)
	go n.fill()
	return n, nil
}

// try confines one slot to see that this host can, and ends it before it has any
// input.
func (n *Native) try() error {
	dir, err := os.MkdirTemp("", "tidegate-try-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(dir) }()
	s, err := n.startSlot(0)
	if err != nil {
		return err
	}
	return errors.Join(n.assign(s, Job{Dir: dir}, time.Now().Add(readyDelay)), s.end())
}

// Stats counts the slots alive.
func (n *Native) Stats() Stats {
	busy := n.busy.Load()
	return Stats{Idle: int(max(0, n.alive.Load()-busy)), Busy: int(busy)}
}

// Close ends all slots, running jobs included, and removes the cgroups.
func (n *Native) Close() error {
	n.mu.Lock()
	again := n.ending
	n.ending = true
	n.mu.Unlock()
	if again {
		return nil
	}
	close(n.closed)
	n.filling.Wait()
	n.running.Wait()
	for len(n.idle) > 0 {
		n.release(<-n.idle)
	}
	n.forks.close()
	return errors.Join(n.cgroups.close(), n.program.Close())
}

// enter says whether a job may still begin.
func (n *Native) enter() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.ending {
		n.running.Add(1)
	}
	return !n.ending
}

// Run runs a job in a slot and returns what it wrote. When it did not end well,
// the error is an *Error; when ctx ended first, it is that of ctx. Nothing of the
// job is alive in any case.
func (n *Native) Run(ctx context.Context, job Job) (Result, error) {
	if job.Path == "" {
		job.Path = n.program.Name()
	}
	if !n.enter() {
		return Result{}, fmt.Errorf("run %s: %w", job.Path, errClosed)
	}
	defer n.running.Done()
	if err := n.accepts(job); err != nil {
		return Result{}, &Error{Kind: ErrStart, Program: filepath.Base(job.Path), Detail: err.Error()}
	}
	s, err := n.acquire(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, fmt.Errorf("wait for a slot for %s: %w", job.Path, ctx.Err())
		}
		return Result{}, &Error{Kind: ErrStart, Program: filepath.Base(job.Path), Detail: err.Error()}
	}
	n.busy.Add(1)
	defer n.busy.Add(-1)
	defer n.release(s)
	limits := job.Limits.withDefaults()
	bounded, cancel := context.WithTimeoutCause(ctx, limits.Wall, ErrTimeout)
	defer cancel()
	if err := n.assign(s, job, time.Now().Add(readyDelay)); err != nil {
		return Result{}, &Error{Kind: ErrStart, Program: filepath.Base(job.Path), Detail: err.Error(), Stderr: s.stderr.String()}
	}
	return n.attend(bounded, s, job)
}

// accepts says why a job cannot be run here.
func (n *Native) accepts(job Job) error {
	if err := checkMounts(job.Mounts); err != nil {
		return err
	}
	if len(job.Args) > 0 {
		return errors.New("the handler of the slot program has no arguments; a program of another kind is one of Commands")
	}
	for _, c := range job.Commands {
		if len(c) == 0 || c[0] == "" {
			return errors.New("a command has no program")
		}
	}
	path, err := Find(job.Path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if own, err := n.program.Stat(); err != nil || !os.SameFile(own, info) {
		return fmt.Errorf("it is not the slot program %s that this sandbox was made with; was it replaced? Restart the worker", n.options.Program)
	}
	return nil
}

// attend feeds a confined slot, reads what it writes and sees to its end.
func (n *Native) attend(ctx context.Context, s *slot, job Job) (Result, error) {
	outer := ctx
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := &capped{limit: job.Limits.withDefaults().Output, exceeded: func() { stop(ErrOutputLimit) }}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(out, s.stdout)
	}()
	go func() {
		_, _ = s.stdin.Write(job.Stdin) // a handler that does not read to the end says itself why
		_ = s.stdin.Close()
	}()
	select {
	case <-s.ended:
	case <-ctx.Done():
	case <-n.closed:
		stop(errClosed)
	}
	_ = s.cmd.Process.Kill()
	for _, end := range []chan struct{}{s.ended, read, s.drained} {
		select {
		case <-end:
		case <-time.After(readyDelay):
			return Result{}, fmt.Errorf("end the slot of %s: process %d does not die", job.Path, s.cmd.Process.Pid)
		}
	}
	if err := outer.Err(); err != nil && !errors.Is(context.Cause(outer), ErrTimeout) {
		return Result{}, fmt.Errorf("run %s: %w", job.Path, err)
	}
	if errors.Is(context.Cause(ctx), errClosed) {
		return Result{}, fmt.Errorf("run %s: %w", job.Path, errClosed)
	}
	data, over := out.result()
	if s.cmd.ProcessState.Success() && !over {
		return Result{Output: data, Stderr: s.stderr.String()}, nil
	}
	return Result{}, s.explain(job, context.Cause(ctx))
}

// explain says why a slot did not end well.
func (s *slot) explain(job Job, cause error) error {
	limits, state, stderr, first := job.Limits.withDefaults(), s.cmd.ProcessState, s.stderr.String(), s.stderr.begin()
	e := &Error{Kind: ErrCrashed, Program: filepath.Base(job.Path), Detail: state.String(), Stderr: stderr}
	switch {
	case errors.Is(cause, ErrOutputLimit):
		e.Kind, e.Detail = ErrOutputLimit, fmt.Sprintf("more than %d bytes", limits.Output)
	case errors.Is(cause, ErrTimeout):
		e.Kind, e.Detail = ErrTimeout, "after "+limits.Wall.String()
	case !s.group.isSet() && strings.HasPrefix(first, runtimeFault), s.group.ranOut() || ranOut(first) || ranOut(stderr) || len(job.Commands) > 0 && says(stderr, outOfMemory):
		e.Kind, e.Detail = ErrMemoryLimit, fmt.Sprintf("the limit is %d MiB", limits.Memory>>20)
	case s.group.refused() || strings.Contains(first, cannotThread) || len(job.Commands) > 0 && says(stderr, cannotFork):
		e.Kind, e.Detail = ErrProcessLimit, fmt.Sprintf("the limit is %d", limits.Processes)
	case state.ExitCode() == exitTmpFull || len(job.Commands) > 0 && says(stderr, noSpace):
		e.Kind, e.Detail = ErrTmpLimit, fmt.Sprintf("the limit is %d MiB", limits.Tmp>>20)
	}
	return e
}

// runtimeFault is how Go's runtime sometimes ends when a resource limit leaves it
// without memory: no code of the handler can end this way.
const runtimeFault = "SIGSEGV: segmentation violation"

// cannotThread is how Go's runtime ends when it is refused a thread.
const cannotThread = "failed to create new OS thread"

// How shells and other programs say that they meet a resource limit.
var (
	outOfMemory = []string{"Out of space", "cannot allocate", "MemoryError"}
	noSpace     = []string{"No space left on device"}
	cannotFork  = []string{"Cannot fork", "an't fork", "fork: retry", "fork: Resource temporarily unavailable", "fork failed"}
)

func says(text string, forms []string) bool {
	return slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(text, form) })
}
