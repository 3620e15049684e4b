package stack

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Command is a program to run in a stack's folder.
type Command struct {
	Name     string   // of the process: run/<name>.pid, logs/<name>.log
	Argv     []string // the program and its arguments
	Env      []string // besides this process's own
	Detached bool     // outlive this process; else it is killed when this process ends, however that happens
}

// Process is a program that runs, or ran, in a stack's folder. Its methods may be called from many goroutines.
type Process struct {
	Name string
	Log  string // what it prints

	pidFile string
	mu      sync.Mutex
	id      identity
	exited  chan struct{} // closed when it has ended; nil if another process started it
	state   string        // how it ended: "exit status 1"
}

// errStopped is what a process that does not run answers to signals.
var errStopped = errors.New("it does not run")

// newProcess describes the process of that name in the stack's folder, whether it runs or not.
func newProcess(dir, name string) *Process {
	return &Process{
		Name:    name,
		Log:     filepath.Join(dir, "logs", name+".log"),
		pidFile: filepath.Join(dir, "run", name+".pid"),
	}
}

// start runs the command; it must not run already. Its output is appended to the log.
func (p *Process) start(c Command) error {
	for _, folder := range []string{filepath.Dir(p.Log), filepath.Dir(p.pidFile)} {
		if err := os.MkdirAll(folder, 0o750); err != nil {
			return fmt.Errorf("start %s: %w", p.Name, err)
		}
	}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	defer log.Close() //nolint:errcheck // the child writes it
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes(c.Detached)

	p.mu.Lock()
	defer p.mu.Unlock()
	if err := onLauncher(cmd.Start); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	exited := make(chan struct{})
	p.exited, p.state = exited, ""
	go func() {
		_ = cmd.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.state = cmd.ProcessState.String()
		close(exited)
	}()
	id, err := identify(cmd.Process.Pid)
	if err != nil { // it has ended already: who waits for it will tell why
		p.id = identity{pid: cmd.Process.Pid}
		return nil
	}
	p.id = id
	if err := id.write(p.pidFile); err != nil {
		_ = cmd.Process.Kill()
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	return nil
}

// find takes over a process that another one started, from its pid file, and reports whether it runs.
func (p *Process) find() bool {
	id, err := readIdentity(p.pidFile)
	if err != nil {
		return false
	}
	p.mu.Lock()
	p.id = id
	p.mu.Unlock()
	return p.Alive()
}

// PID is the process's number, 0 when it was never started.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.id.pid
}

// Alive reports whether it runs; a frozen one does.
func (p *Process) Alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exited != nil {
		select {
		case <-p.exited:
			return false
		default:
			return true
		}
	}
	return p.id.alive()
}

// Kill ends it with SIGKILL, as a crash would, and waits until it is gone.
func (p *Process) Kill() error { return p.end(syscall.SIGKILL, 0) }

// Stop asks it to end with SIGTERM, gives it the grace to do so, and kills it then. One that does not run is fine.
func (p *Process) Stop(grace time.Duration) error {
	if !p.Alive() {
		return os.RemoveAll(p.pidFile)
	}
	return p.end(syscall.SIGTERM, grace)
}

// Freeze stops it from running without ending it, as a machine that hangs would. It returns when no thread of it runs.
func (p *Process) Freeze() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !frozen(p.PID()) {
		if !p.Alive() {
			return p.ended()
		}
		<-tick.C
	}
	return nil
}

// Thaw lets a frozen process go on.
func (p *Process) Thaw() error { return p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) error {
	if !p.Alive() {
		return fmt.Errorf("signal %s: %w", p.Name, errStopped)
	}
	if err := syscall.Kill(p.PID(), s); err != nil {
		return fmt.Errorf("signal %s: %w", p.Name, err)
	}
	return nil
}

// The kernel ends a killed process at once, unless its disk hangs.
const killTimeout = 30 * time.Second

// end sends the signal, then SIGKILL after the grace, and waits until the process is gone.
func (p *Process) end(s syscall.Signal, grace time.Duration) error {
	if err := p.signal(s); err != nil {
		return err
	}
	_ = p.Thaw() // a frozen process sees SIGTERM only then
	if s != syscall.SIGKILL && !p.gone(grace) {
		_ = p.signal(syscall.SIGKILL)
	}
	if !p.gone(killTimeout) {
		return fmt.Errorf("kill %s: process %d is still there after %s", p.Name, p.PID(), killTimeout)
	}
	return os.RemoveAll(p.pidFile)
}

// gone waits until the process has ended, at most for the time given.
func (p *Process) gone(timeout time.Duration) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(timeout)
	for p.Alive() {
		select {
		case <-tick.C:
		case <-late:
			return false
		}
	}
	return true
}

// lastLines quotes the end of the log, for messages about a process that did not do its duty.
func (p *Process) lastLines(n int) string {
	const longest = 16 << 10
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text[max(0, len(text)-longest):])), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// ended tells how a process that runs no more ended, with the last lines of its log.
func (p *Process) ended() error {
	p.mu.Lock()
	state := p.state
	p.mu.Unlock()
	if state == "" {
		state = "it is gone"
	}
	return fmt.Errorf("%s ended: %s; the end of %s:\n%s", p.Name, state, p.Log, p.lastLines(8))
}
