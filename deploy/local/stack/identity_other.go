//go:build unix && !linux

package stack

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// processStart returns when the process started, as ps writes it, and whether it is more than a zombie.
func processStart(pid int) (started string, running bool, err error) {
	text, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", false, err
	}
	state, started, found := strings.Cut(strings.TrimSpace(string(text)), " ")
	if !found {
		return "", false, fmt.Errorf("read ps: unexpected line %q", text)
	}
	return strings.Join(strings.Fields(started), "_"), !strings.HasPrefix(state, "Z"), nil
}

// frozen takes the system's word for it: a signal that was sent has arrived.
func frozen(int) bool { return true }
