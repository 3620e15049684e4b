package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
)

// Up returns the stack in o.Dir, with every part ready, and whether it was so before. What has died of it is started again,
// on what it had stored; what remains of one that never became ready is removed first.
func Up(ctx context.Context, o Options) (s *Stack, already bool, err error) {
	o, err = o.complete()
	if err != nil {
		return nil, false, err
	}
	unlock, err := lock(o.Dir)
	if err != nil {
		return nil, false, err
	}
	defer unlock()

	s, complete, err := open(o.Dir)
	switch {
	case errors.Is(err, ErrNone):
	case err != nil:
		return nil, false, err
	case complete:
		already, err = s.revive(ctx, o)
		return s, already, err
	}
	if err := clearHalfStarted(o); err != nil {
		return nil, false, err
	}
	s, err = start(ctx, o)
	if err != nil && o.Detached {
		return nil, false, errors.Join(err, removeFiles(o.Dir, "logs"))
	}
	return s, false, err
}

// revive starts what has died of a stack that was up, and reports whether nothing had to be.
func (s *Stack) revive(ctx context.Context, o Options) (already bool, err error) {
	if !reflect.DeepEqual(regionNames(s.options), regionNames(o)) {
		return false, fmt.Errorf("start the stack: one with other regions is up (%d, not %d): end it first, with `make down`",
			len(s.options.Regions), len(o.Regions))
	}
	s.options.Progress = o.Progress
	already = true
	for _, p := range s.processes() {
		if !p.Alive() {
			already = false
			o.Progress(fmt.Sprintf("%-20s has died, starts again", p.Name))
		}
	}
	if already {
		s.options.Progress = func(string) {}
	}
	return already, s.ensureAll(ctx)
}

func regionNames(o Options) []string {
	var names []string
	for _, r := range o.Regions {
		names = append(names, r.Name)
	}
	return names
}

// clearHalfStarted ends and removes what a start that was killed has left.
func clearHalfStarted(o Options) error {
	left, err := running(o.Dir)
	if err != nil {
		return fmt.Errorf("find the stack's processes: %w", err)
	}
	if len(left) > 0 {
		o.Progress(fmt.Sprintf("a start that did not finish left %d processes: ending them", len(left)))
	}
	return down(o.Dir)
}

// Down ends every process in the folder, of the stack and of Tidegate, and removes all they have written; the built programs
// stay. It returns how many processes it has ended; with nothing there it does nothing.
func Down(dir string) (ended int, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return 0, fmt.Errorf("end the stack: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, lockName)); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	unlock, err := lock(dir)
	if err != nil {
		return 0, err
	}
	defer unlock()
	processes, err := running(dir)
	if err != nil {
		return 0, fmt.Errorf("find the stack's processes: %w", err)
	}
	return len(processes), errors.Join(down(dir), os.RemoveAll(filepath.Join(dir, lockName)))
}

func down(dir string) error {
	if err := endAll(dir); err != nil {
		return fmt.Errorf("end the stack: %w", err)
	}
	return removeFiles(dir, "")
}

// removeFiles removes what a stack and Tidegate write, by name, so that nothing else is ever lost, but for the one to keep.
func removeFiles(dir, keep string) error {
	written := []string{"artifacts", "artifacts.key", "demo", "etcd", "kubeconfig", "logs", "mirrors", "pki", "regions", "run", "stack.json", "temporal", "tidegate.yaml"}
	var failed []error
	for _, name := range written {
		if name != keep {
			failed = append(failed, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	return errors.Join(failed...)
}
