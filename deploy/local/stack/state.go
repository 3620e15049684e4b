package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrNone says that no stack was started in the folder.
var ErrNone = errors.New("no local stack is up: start one with `make up`")

// saved is what another process needs to know of a stack.
type saved struct {
	Options  Options `json:"options"`
	Complete bool    `json:"complete"` // every part of it was ready once
}

func stateFile(dir string) string { return filepath.Join(dir, "stack.json") }

func (s *Stack) save(complete bool) error {
	text, err := json.MarshalIndent(saved{Options: s.options, Complete: complete}, "", "  ")
	if err != nil {
		return fmt.Errorf("save the stack's state: %w", err)
	}
	return writeFile(stateFile(s.Dir), text)
}

// Open returns the stack that was started in the folder, by whatever process; its parts run or not. It returns [ErrNone]
// when there is none.
func Open(dir string) (*Stack, error) {
	s, _, err := open(dir)
	return s, err
}

func open(dir string) (s *Stack, complete bool, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, false, fmt.Errorf("open the stack: %w", err)
	}
	text, err := os.ReadFile(stateFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, ErrNone
	}
	var state saved
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		return nil, false, fmt.Errorf("open the stack: %w", err)
	}
	state.Options.Dir = dir // it may have been moved
	state.Options.Progress = func(string) {}
	programs, err := findTools(state.Options)
	if err != nil {
		return nil, false, fmt.Errorf("open the stack: %w", err)
	}
	s = assemble(state.Options, programs)
	s.ports = &reservation{}
	for _, p := range s.processes() {
		p.find()
	}
	return s, state.Complete, nil
}

// processes are the servers' processes, running or not.
func (s *Stack) processes() []*Process {
	var all []*Process
	if s.Temporal != nil {
		all = append(all, s.Temporal.process)
	}
	if len(s.Regions) == 0 {
		return all
	}
	all = append(all, s.etcd)
	for _, r := range s.Regions {
		all = append(all, r.process)
	}
	if !s.options.NoControllers {
		all = append(all, s.controllers)
	}
	return all
}

const lockName = "stack.lock"

// lock keeps other processes from starting or ending a stack in the folder, which it makes, until the function it returns
// is called.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("lock the stack: %w", err)
	}
	file, err := lockFile(filepath.Join(dir, lockName))
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("lock the stack: another process is starting or ending it in %s: wait for that", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the stack: %w", err)
	}
	return func() { _ = file.Close() }, nil
}
