package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Run starts another program in the stack's folder dir, such as one of Tidegate's own, and waits until it is ready. One that
// does not become ready is ended again. [Down] ends a detached one together with the stack.
func Run(ctx context.Context, dir string, c Command, ready func(context.Context) error) (*Process, error) {
	p := newProcess(dir, c.Name)
	if p.find() {
		return nil, fmt.Errorf("start %s: it runs already, as process %d", c.Name, p.PID())
	}
	p = newProcess(dir, c.Name)
	if err := p.start(c); err != nil {
		return nil, err
	}
	if err := p.waitReady(ctx, ready); err != nil {
		return nil, errors.Join(err, p.Stop(stopGrace))
	}
	return p, nil
}

// Find returns the process of that name in the stack's folder, and whether it runs.
func Find(dir, name string) (*Process, bool) {
	p := newProcess(dir, name)
	return p, p.find()
}

// stopGrace is what programs that are asked to end get for it, before they are killed.
const stopGrace = 10 * time.Second

// running returns every process in the stack's folder that runs, by its pid file.
func running(dir string) ([]*Process, error) {
	files, err := os.ReadDir(filepath.Join(dir, "run"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var found []*Process
	for _, file := range files {
		name, ok := strings.CutSuffix(file.Name(), ".pid")
		if !ok {
			continue
		}
		if p, runs := Find(dir, name); runs {
			found = append(found, p)
		}
	}
	return found, nil
}
