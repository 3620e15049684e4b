package stack

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Part is one process of a stack, as a person wants to see it.
type Part struct {
	Name  string
	State string // "ready", "stopped", or why it is not ready
	Where string // URL or address
	Log   string
	PID   int // 0 when it does not run
}

// Ready reports whether the part does its duty.
func (p Part) Ready() bool { return p.State == stateReady }

const (
	stateReady    = "ready"
	statusTimeout = 3 * time.Second
)

// Status looks at every process of the stack and of Tidegate, at most for three seconds.
func (s *Stack) Status(ctx context.Context) []Part {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	var parts []Part
	var asked sync.WaitGroup
	processes := append(s.processes(), s.others()...)
	parts = make([]Part, len(processes))
	for i, p := range processes {
		asked.Go(func() { parts[i] = s.look(ctx, p) })
	}
	asked.Wait()
	return parts
}

func (s *Stack) look(ctx context.Context, p *Process) Part {
	where, ready := s.probe(p)
	part := Part{Name: p.Name, Where: where, Log: p.Log, State: "stopped"}
	if !p.Alive() {
		return part
	}
	part.PID = p.PID()
	part.State = stateReady
	if ready != nil {
		if err := ready(ctx); err != nil {
			part.State = "not ready: " + err.Error()
		}
	}
	return part
}

// probe tells where a process listens and how to ask whether it is ready, if it can be asked.
func (s *Stack) probe(p *Process) (where string, ready func(context.Context) error) {
	if p == s.etcd {
		return httpURL(s.options.Ports.Etcd), nil
	}
	if s.Temporal != nil && p == s.Temporal.process {
		return strings.TrimSpace(s.Temporal.Address + " " + s.Temporal.UI), s.Temporal.Ready
	}
	for _, r := range s.Regions {
		if p == r.process {
			return r.URL, r.Ready
		}
	}
	return "", nil
}

// others are the programs started by [Run].
func (s *Stack) others() []*Process {
	files, _ := os.ReadDir(filepath.Join(s.Dir, "run"))
	var found []*Process
	for _, file := range files {
		if name, ok := strings.CutSuffix(file.Name(), ".pid"); ok && !isServer(name) {
			p, _ := Find(s.Dir, name)
			found = append(found, p)
		}
	}
	return found
}
