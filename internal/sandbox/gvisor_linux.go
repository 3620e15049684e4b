package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// GVisor runs each job in a container of gVisor's runsc: on a kernel of its own,
// written in Go, which in turn is confined on the host. It is stronger than Native
// and slower, as each container is started when there is a job.
type GVisor struct {
	options GVisorOptions
	runsc   string
	program string
	cgroups *cgroups
	forks   *forks
	slots   chan int
	busy    atomic.Int64
	dir     string   // holds the bundles
	lock    *os.File // of dir, held while this process lives
}

// GVisorOptions say what a GVisor runs.
type GVisorOptions struct {
	// Runsc is gVisor's program; looked up in PATH when it has no slash.
	Runsc string
	// Program is the program that answers jobs without commands. Its main must call
	// ServeSlot first thing.
	Program string
	// Max bounds the containers alive; 30 by default.
	Max int
}

const (
	defaultContainers = 30
	// sentryMemory and sentryThreads are what gVisor itself takes of a job's limits.
	// The cgroup counts a process of the host for each of the container.
	sentryMemory  = 96 << 20
	sentryThreads = 64
)

// NewGVisor runs one container to see that it works. It returns an error that says
// what is missing when this host cannot: root, or cgroups of version 1, which hold
// memory and processes.
func NewGVisor(options GVisorOptions) (_ *GVisor, err error) {
	if options.Max <= 0 {
		options.Max = defaultContainers
	}
	g := &GVisor{options: options, slots: make(chan int, options.Max)}
	if g.runsc, err = Find(options.Runsc); err != nil {
		return nil, fmt.Errorf("find gVisor's runsc: %w", err)
	}
	if g.program, err = Find(options.Program); err != nil {
		return nil, fmt.Errorf("find the program to run: %w", err)
	}
	if g.program, err = filepath.Abs(g.program); err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("make the gVisor sandbox: it needs root; run the worker as root in its container, or use the native sandbox")
	}
	if g.cgroups, err = openCgroups(); err != nil {
		return nil, fmt.Errorf("make the gVisor sandbox: cgroups hold its memory and processes: %w", err)
	}
	if g.dir, g.lock, err = bundlesDir(); err != nil {
		return nil, errors.Join(fmt.Errorf("make a folder for bundles: %w", err), g.cgroups.close())
	}
	for n := range options.Max {
		g.slots <- n
	}
	g.forks = newForks()
	return g, nil
}

// bundlesDir makes a folder that is this process's own, and removes those of
// processes that died.
func bundlesDir() (dir string, lock *os.File, err error) {
	const prefix = "tidegate-gvisor-"
	others, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, other := range others {
		lock, err := os.Open(other) //nolint:gosec // only ours have the name
		if err != nil {
			continue
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(other)
		}
		_ = lock.Close()
	}
	if dir, err = os.MkdirTemp("", prefix); err != nil {
		return "", nil, err
	}
	if lock, err = os.Open(dir); err != nil { //nolint:gosec // just made
		return "", nil, err
	}
	return dir, lock, unix.Flock(int(lock.Fd()), unix.LOCK_EX)
}

// Try runs a program that ends at once.
func (g *GVisor) Try(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "tidegate-try-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(dir) }()
	if _, err = g.Run(ctx, Job{Dir: dir, Commands: []Command{{programPlace, doNothingFlag}}}); err != nil {
		return fmt.Errorf("make the gVisor sandbox: %w; does %s run at all?", err, g.runsc)
	}
	return nil
}

// Stats counts the containers.
func (g *GVisor) Stats() Stats { return Stats{Busy: int(g.busy.Load())} }

// Close removes the cgroups. No job may run any more.
func (g *GVisor) Close() error {
	g.forks.close()
	return errors.Join(g.cgroups.close(), g.lock.Close(), os.RemoveAll(g.dir))
}

// Run runs a job in a container and returns what it wrote. When it did not end
// well, the error is an *Error; when ctx ended first, it is that of ctx. Nothing of
// the job is alive in any case.
func (g *GVisor) Run(ctx context.Context, job Job) (Result, error) {
	if job.Path == "" {
		job.Path = g.program
	}
	var slot int
	select {
	case slot = <-g.slots:
	case <-ctx.Done():
		return Result{}, fmt.Errorf("wait for a container for %s: %w", job.Path, ctx.Err())
	}
	g.busy.Add(1)
	defer func() {
		g.busy.Add(-1)
		g.slots <- slot
	}()
	bundle, err := os.MkdirTemp(g.dir, "tidegate-bundle-")
	if err != nil {
		return Result{}, fmt.Errorf("make a bundle: %w", err)
	}
	defer func() { _ = os.RemoveAll(bundle) }()
	c := container{gvisor: g, slot: slot, job: job, bundle: bundle}
	if err := c.write(); err != nil {
		return Result{}, &Error{Kind: ErrStart, Program: filepath.Base(job.Path), Detail: err.Error()}
	}
	return c.run(ctx)
}

// container is one container of a job.
type container struct {
	gvisor *GVisor
	slot   int
	job    Job
	bundle string
	cmd    *exec.Cmd
	group  group
}

func (c *container) run(outer context.Context) (_ Result, err error) {
	limits := c.job.Limits.withDefaults()
	ctx, cancel := context.WithTimeoutCause(outer, limits.Wall, ErrTimeout)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := &capped{limit: limits.Output, exceeded: func() { stop(ErrOutputLimit) }}
	stderr := &tail{limit: stderrTail}
	c.cmd = exec.Command(c.gvisor.program, launchFlag, c.gvisor.runsc, "--root="+filepath.Join(c.bundle, "state"), "--network=none", "--platform=systrap", "--ignore-cgroups", //nolint:gosec // the operator's setting
		"--overlay2="+c.overlay(), "--host-uds=none", "run", "--bundle="+c.bundle, filepath.Base(c.bundle))
	c.cmd.Env, c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + c.bundle}, "/", out, stderr
	// What it mounts is gone with it.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: unix.CLONE_NEWNS}
	c.cmd.WaitDelay = pipeDelay
	input, err := c.cmd.StdinPipe()
	if err != nil {
		return Result{}, err
	}
	if err := c.start(limits); err != nil {
		return Result{}, &Error{Kind: ErrStart, Program: filepath.Base(c.job.Path), Detail: err.Error()}
	}
	go func() {
		_, _ = io.Copy(input, strings.NewReader(c.stdin()))
		_ = input.Close()
	}()
	ended := make(chan error, 1)
	go func() { ended <- c.cmd.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		c.kill()
		err = <-ended
	}
	defer c.end()
	if outer.Err() != nil {
		return Result{}, fmt.Errorf("run %s: %w", c.job.Path, outer.Err())
	}
	data, over := out.result()
	if err == nil && !over {
		return Result{Output: data, Stderr: stderr.String()}, nil
	}
	return Result{}, c.explain(context.Cause(ctx), err, stderr)
}

// start starts runsc in its cgroup: what launches it waits until it is in there.
func (c *container) start(limits Limits) (err error) {
	gate, open, err := os.Pipe()
	if err != nil {
		return err
	}
	defer closeAll([]*os.File{gate, open})
	c.cmd.ExtraFiles = []*os.File{gate}
	if err := c.gvisor.forks.start(c.cmd); err != nil {
		return err
	}
	c.group, err = c.gvisor.cgroups.add(c.slot, c.cmd.Process.Pid)
	if err == nil {
		limits.Memory += sentryMemory
		limits.Processes += sentryThreads
		err = c.group.limit(limits)
	}
	if err != nil {
		c.kill()
		_ = c.cmd.Wait()
		c.end()
	}
	return err
}

// kill kills all of the container.
func (c *container) kill() {
	_ = unix.Kill(-c.cmd.Process.Pid, unix.SIGKILL)
	c.group.kill()
}

// end kills what is left, and removes the cgroup.
func (c *container) end() {
	deadline := time.Now().Add(readyDelay)
	for c.group.isSet() && c.group.remove() != nil && time.Now().Before(deadline) {
		c.group.kill()
		<-time.After(time.Millisecond) // nothing tells when a cgroup is empty
	}
}

// overlay is how the container may write: commands to a layer in its memory over
// the checkout, others to nothing but /tmp.
func (c *container) overlay() string {
	if len(c.job.Commands) > 0 {
		return fmt.Sprintf("all:memory,size=%d", c.job.Limits.withDefaults().Tmp)
	}
	return "none"
}

func (c *container) stdin() string {
	if len(c.job.Commands) == 0 {
		return string(c.job.Stdin)
	}
	order, _ := json.Marshal(order{Commands: c.job.Commands, Subdir: c.job.Subdir, Env: c.job.Env}) // strings only
	return string(order)
}

// programPlace is where a container has the program.
const programPlace = "/tidegate/program"

// write writes the bundle (https://github.com/opencontainers/runtime-spec).
func (c *container) write() error {
	if err := checkMounts(c.job.Mounts); err != nil {
		return err
	}
	root := filepath.Join(c.bundle, "rootfs")
	for _, dir := range []string{"dev", "proc", "sys", "tmp", "work", "mounts", "tidegate"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil { //nolint:gosec // the container's user must find it
			return err
		}
	}
	limits := c.job.Limits.withDefaults()
	bind := func(from, to string, options ...string) specs.Mount {
		return specs.Mount{Destination: to, Type: "bind", Source: from, Options: append([]string{"bind", "nosuid", "nodev"}, options...)}
	}
	dir, err := filepath.Abs(c.job.Dir)
	if err != nil {
		return err
	}
	readOnly, args := "ro", []string{programPlace, handlerFlag}
	if len(c.job.Commands) > 0 {
		readOnly, args = "rw", []string{programPlace, commandsFlag}
	}
	mounts := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc"},
		{Destination: "/tmp", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "nodev", fmt.Sprintf("size=%d", limits.Tmp)}},
		bind(dir, workDir, readOnly),
		bind(c.gvisor.program, programPlace, "ro"),
	}
	for _, m := range c.job.Mounts {
		from, err := filepath.Abs(m.Dir)
		if err != nil {
			return err
		}
		mounts = append(mounts, bind(from, mountsDir+"/"+m.Name, "ro"))
	}
	if len(c.job.Commands) > 0 {
		tools, err := toolsOf(c.job.Root)
		if err != nil {
			return err
		}
		for _, t := range tools {
			mounted, err := t.make(root)
			if err != nil {
				return err
			}
			if mounted {
				mounts = append(mounts, bind(t.path, "/"+t.Name, "ro"))
			}
		}
	}
	return c.writeSpec(args, mounts)
}

func (c *container) writeSpec(args []string, mounts []specs.Mount) error {
	processes := uint64(c.job.Limits.withDefaults().Processes) //nolint:gosec // positive since withDefaults
	// It gives them up when it has closed itself off (confineContained).
	first := []string{"CAP_SYS_ADMIN", "CAP_SETPCAP"}
	spec := specs.Spec{
		Version: specs.Version,
		Root:    &specs.Root{Path: "rootfs", Readonly: true},
		Process: &specs.Process{
			Args: args, Cwd: workDir, NoNewPrivileges: true, Capabilities: &specs.LinuxCapabilities{Bounding: first, Effective: first, Permitted: first},
			Env: []string{
				"PATH=", "HOME=/nonexistent", "TMPDIR=/tmp", "LANG=C.UTF-8", MountsVariable + "=" + mountsDir,
				fmt.Sprintf("GOMEMLIMIT=%d", c.job.Limits.withDefaults().Memory/4*3),
			},
			// In gVisor that bounds the threads of this container, which no cgroup counts.
			Rlimits: []specs.POSIXRlimit{
				{Type: "RLIMIT_NPROC", Hard: processes, Soft: processes},
				{Type: "RLIMIT_CORE"},
				{Type: "RLIMIT_NOFILE", Hard: maxOpenFiles, Soft: maxOpenFiles},
			},
		},
		Hostname: "slot",
		Mounts:   mounts,
		Linux: &specs.Linux{Namespaces: []specs.LinuxNamespace{
			{Type: specs.PIDNamespace}, {Type: specs.NetworkNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace}, {Type: specs.MountNamespace},
		}},
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.bundle, "config.json"), data, 0o600)
}

// explain says why a container did not end well.
func (c *container) explain(cause, err error, stderr *tail) error {
	limits, text := c.job.Limits.withDefaults(), stderr.String()
	e := &Error{Kind: ErrCrashed, Program: filepath.Base(c.job.Path), Stderr: text}
	var ended *exec.ExitError
	switch commands := len(c.job.Commands) > 0; {
	case errors.Is(cause, ErrOutputLimit):
		e.Kind, e.Detail = ErrOutputLimit, fmt.Sprintf("more than %d bytes", limits.Output)
	case errors.Is(cause, ErrTimeout):
		e.Kind, e.Detail = ErrTimeout, "after "+limits.Wall.String()
	case c.group.ranOut() || ranOut(stderr.begin()) || ranOut(text) || commands && says(text, outOfMemory):
		e.Kind, e.Detail = ErrMemoryLimit, fmt.Sprintf("the limit is %d MiB", limits.Memory>>20)
	case c.group.refused() || strings.Contains(stderr.begin(), cannotThread) || commands && says(text, cannotFork):
		e.Kind, e.Detail = ErrProcessLimit, fmt.Sprintf("the limit is %d", limits.Processes)
	case errors.As(err, &ended) && ended.ExitCode() == exitTmpFull || commands && says(text, noSpace):
		e.Kind, e.Detail = ErrTmpLimit, fmt.Sprintf("the limit is %d MiB", limits.Tmp>>20)
	case err != nil:
		e.Detail = err.Error()
	}
	return e
}
