package stack

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// identity is one process for ever: its number, and when it started, since systems use numbers again.
type identity struct {
	pid     int
	started string // as the system writes it; only ever compared
}

// identify looks at a process that runs now.
func identify(pid int) (identity, error) {
	started, _, err := processStart(pid)
	if err != nil {
		return identity{}, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return identity{pid: pid, started: started}, nil
}

// alive reports whether this very process runs, and has not ended unnoticed by its parent.
func (i identity) alive() bool {
	if i.pid == 0 || syscall.Kill(i.pid, 0) != nil {
		return false
	}
	started, running, err := processStart(i.pid)
	return err == nil && running && started == i.started
}

func (i identity) write(path string) error {
	return os.WriteFile(path, []byte(strconv.Itoa(i.pid)+" "+i.started+"\n"), 0o600)
}

// readIdentity reads what write wrote.
func readIdentity(path string) (identity, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return identity{}, err
	}
	number, started, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	pid, err := strconv.Atoi(number)
	if err != nil || pid <= 1 || started == "" {
		return identity{}, fmt.Errorf("read %s: want a process number and its start, got %q", path, text)
	}
	return identity{pid: pid, started: started}, nil
}
