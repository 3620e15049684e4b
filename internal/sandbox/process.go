package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	stderrTail = 8 << 10
	// pipeDelay is how long output is waited for once the program has ended: a
	// grandchild that left the group may hold the pipe open for ever.
	pipeDelay = time.Second
)

// Process runs programs as plain processes: in a process group of their own that
// is killed as a whole, without this process's environment, with limits on time,
// output, memory and core dumps. It does not keep a program from the network or
// the host's files, nor a grandchild that leaves the group from living on.
type Process struct{}

// Run runs a job and returns what it wrote. When the program did not end well,
// the error is an *Error; when ctx ended first, it is that of ctx. Nothing of the
// group is alive in any case.
func (Process) Run(ctx context.Context, job Job) (Result, error) {
	limits := job.Limits.withDefaults()
	scratch, err := os.MkdirTemp("", "tidegate-job-")
	if err != nil {
		return Result{}, fmt.Errorf("make a scratch folder for %s: %w", filepath.Base(job.Path), err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	if err := linkMounts(scratch, job.Mounts); err != nil {
		return Result{}, &Error{Kind: ErrStart, Program: filepath.Base(job.Path), Detail: err.Error()}
	}

	if len(job.Commands) > 0 {
		return runCommands(ctx, job, scratch)
	}
	dir, env := job.Dir, environment(scratch, limits)
	return run(ctx, job, program{append([]string{job.Path}, job.Args...), dir, env, job.Stdin})
}

// program is one process to run for a job.
type program struct {
	args  []string
	dir   string
	env   []string
	stdin []byte
}

func run(ctx context.Context, job Job, p program) (Result, error) {
	limits := job.Limits.withDefaults()
	// The signal on the parent's death follows the thread that starts the child, so
	// that thread must live as long as the child does.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	bounded, cancel := context.WithTimeoutCause(ctx, limits.Wall, ErrTimeout)
	defer cancel()
	bounded, stop := context.WithCancelCause(bounded)
	defer stop(nil)
	out := &capped{limit: limits.Output, exceeded: func() { stop(ErrOutputLimit) }}
	stderr := &tail{limit: stderrTail}
	cmd := exec.CommandContext(bounded, p.args[0], p.args[1:]...) //nolint:gosec // running a program is the purpose; callers name it
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = p.dir, out, stderr, p.env
	cmd.WaitDelay = pipeDelay
	if err := start(cmd, p.stdin, limits); err != nil {
		return Result{}, &Error{Kind: ErrStart, Program: filepath.Base(p.args[0]), Detail: err.Error()}
	}
	err := cmd.Wait()
	_ = killGroup(cmd.Process) // what the program left behind
	if ctx.Err() != nil {
		return Result{}, fmt.Errorf("run %s: %w", p.args[0], ctx.Err())
	}
	data, over := out.result()
	if err == nil && !over {
		return Result{Output: data, Stderr: stderr.String()}, nil
	}
	return Result{}, explain(job, p.args[0], context.Cause(bounded), err, stderr)
}

// runCommands runs commands in a copy of the job's folder. They find the host's
// programs: a root of their own takes a sandbox. The time of all is bounded, the
// rest for each.
func runCommands(ctx context.Context, job Job, scratch string) (result Result, err error) {
	if job.Root != "" {
		return Result{}, &Error{Kind: ErrStart, Program: filepath.Base(job.Commands[0][0]), Detail: "without a sandbox commands have no root of their own; leave it out, and install what they need on this host"}
	}
	work := filepath.Join(scratch, "work")
	if err := os.CopyFS(work, os.DirFS(job.Dir)); err != nil {
		return Result{}, fmt.Errorf("copy the checkout: %w", err)
	}
	limits := job.Limits.withDefaults()
	ctx, cancel := context.WithTimeoutCause(ctx, limits.Wall, ErrTimeout)
	defer cancel()
	env := commandEnvironment(filepath.Join(scratch, "tmp"), filepath.Join(scratch, "mounts"), job.Env)
	var stderr strings.Builder
	for i, c := range job.Commands {
		path, err := findIn(commandPath, c[0])
		if err != nil {
			return Result{}, &Error{Kind: ErrCrashed, Program: filepath.Base(c[0]), Detail: err.Error(), Stderr: err.Error()}
		}
		result, err = run(ctx, job, program{args: append([]string{path}, c[1:]...), dir: filepath.Join(work, filepath.FromSlash(job.Subdir)), env: env})
		if err != nil {
			if errors.Is(context.Cause(ctx), ErrTimeout) {
				err = &Error{Kind: ErrTimeout, Program: filepath.Base(c[0]), Detail: "after " + limits.Wall.String()}
			}
			return Result{}, err
		}
		if stderr.WriteString(result.Stderr); i < len(job.Commands)-1 {
			stderr.Write(result.Output)
		}
	}
	result.Stderr = stderr.String()
	return result, nil
}

// findIn looks a program up in folders.
func findIn(path, name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for dir := range strings.SplitSeq(path, ":") {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%s is in none of %s", name, path)
}

// commandPath is where commands are looked up.
const commandPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// commandEnvironment is what commands find in their environment besides a job's
// own.
func commandEnvironment(tmp, mounts string, own []string) []string {
	return append([]string{"PATH=" + commandPath, "HOME=" + tmp, "TMPDIR=" + tmp, "LANG=C.UTF-8", MountsVariable + "=" + mounts}, own...)
}

// linkMounts makes the folders that a program finds in its environment.
func linkMounts(scratch string, mounts []Mount) error {
	if err := checkMounts(mounts); err != nil {
		return err
	}
	for _, dir := range []string{"tmp", "mounts"} {
		if err := os.Mkdir(filepath.Join(scratch, dir), 0o700); err != nil {
			return err
		}
	}
	for _, m := range mounts {
		dir, err := filepath.Abs(m.Dir)
		if err != nil {
			return err
		}
		if err := os.Symlink(dir, filepath.Join(scratch, "mounts", m.Name)); err != nil {
			return err
		}
	}
	return nil
}

// environment is all that a program gets.
func environment(scratch string, limits Limits) []string {
	return []string{
		"PATH=", "HOME=/nonexistent", "TMPDIR=" + filepath.Join(scratch, "tmp"), "LANG=C.UTF-8",
		MountsVariable + "=" + filepath.Join(scratch, "mounts"),
		fmt.Sprintf("GOMEMLIMIT=%d", limits.Memory/4*3),
	}
}

// start starts the program and gives it its input only once its limits hold.
func start(cmd *exec.Cmd, stdin []byte, limits Limits) error {
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := limit(cmd.Process.Pid, limits); err != nil {
		_ = killGroup(cmd.Process)
		return errors.Join(err, cmd.Wait())
	}
	go func() {
		// A program that does not read to the end says itself why.
		_, _ = io.Copy(input, bytes.NewReader(stdin))
		_ = input.Close()
	}()
	return nil
}

// explain says why a program did not end well.
func explain(job Job, program string, cause, err error, stderr *tail) error {
	limits := job.Limits.withDefaults()
	e := &Error{Kind: ErrCrashed, Program: filepath.Base(program), Stderr: stderr.String()}
	switch {
	case errors.Is(cause, ErrOutputLimit):
		e.Kind, e.Detail = ErrOutputLimit, fmt.Sprintf("more than %d bytes", limits.Output)
	case errors.Is(cause, ErrTimeout):
		e.Kind, e.Detail = ErrTimeout, "after "+limits.Wall.String()
	case ranOut(stderr.begin()), ranOut(stderr.String()):
		e.Kind, e.Detail = ErrMemoryLimit, fmt.Sprintf("the limit is %d MiB", limits.Memory>>20)
	default:
		e.Detail = err.Error()
	}
	return e
}

// ranOut recognises how the Go runtime, its race detector and the C library
// report it.
func ranOut(stderr string) bool {
	return strings.Contains(stderr, "out of memory") || strings.Contains(stderr, "annot allocate memory") ||
		strings.Contains(stderr, "failed to allocate")
}
