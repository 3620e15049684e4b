package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/deploy/local/stack"
	"github.com/tidegate/tidegate/internal/config"
)

// fleet is what all tests share: Temporal, ten regions, and the folder of the
// built programs. The first test that needs it starts it.
type fleet struct {
	*stack.Stack
	settings config.Settings // the stack's: its free ports are used by one world after the other
	bin      string
}

var shared struct {
	sync.Once
	fleet fleet
	err   error
	stop  func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.stop != nil {
		shared.stop()
	}
	os.Exit(code)
}

// theFleet returns the shared servers; it skips the test when servers are not
// wanted, and fails it when the programs are not built.
func theFleet(t *testing.T) fleet {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real servers: run without -short")
	}
	shared.Do(func() { shared.err = startFleet(t) })
	require.NoError(t, shared.err)
	return shared.fleet
}

// starts is how often the servers may fail to start: ten at once may take longer
// than they are given, on a machine that is busy with something else too.
const starts = 2

func startFleet(t *testing.T) error {
	bin, err := stack.FindBin()
	if err != nil {
		return err
	}
	for _, program := range []string{"tidegate", "tidegate-worker", "tidegate-render", "tidegate-kubernetes"} {
		if _, err := os.Stat(filepath.Join(bin, program)); err != nil {
			return fmt.Errorf("find the programs to test: %w; run `make tools build`", err)
		}
	}
	dir, err := os.MkdirTemp("", "tidegate-e2e-")
	if err != nil {
		return err
	}
	var s *stack.Stack
	for range starts {
		if s, err = stack.Start(t.Context(), stack.Options{Dir: dir, Regions: stack.Demo(10), AuditLog: true, Temporal: true}); err == nil {
			break
		}
		t.Logf("the servers did not start: %v", err)
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return err
	}
	stop := func() { _ = errors.Join(s.Stop(), os.RemoveAll(dir)) }
	settings, err := config.Load(s.Settings)
	if err != nil {
		stop()
		return err
	}
	shared.stop, shared.fleet = stop, fleet{Stack: s, settings: settings, bin: bin}
	return nil
}

// region returns a region by its name.
func (f fleet) region(t *testing.T, name string) *stack.Region {
	t.Helper()
	for _, r := range f.Regions {
		if r.Name == name {
			return r
		}
	}
	require.Fail(t, "no such region", name)
	return nil
}

// regionNames are all of the fleet's.
func (f fleet) regionNames() []string {
	var names []string
	for _, r := range f.Regions {
		names = append(names, r.Name)
	}
	return names
}
