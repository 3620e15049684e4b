package telemetry_test

import (
	"bufio"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tidegate/tidegate/internal/telemetry"
)

func TestATerminalGetsColour(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("this system has no pseudo-terminals: ", err)
	}
	defer func() { require.NoError(t, terminal.Close()) }()
	other := otherEnd(t, terminal)
	defer func() { require.NoError(t, other.Close()) }()
	logger, err := telemetry.NewLogger(telemetry.LogOptions{Output: other})
	require.NoError(t, err)
	logger.Info("shown")
	line, err := bufio.NewReader(terminal).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "\x1b[34mINFO\x1b[0m")
	require.Contains(t, line, "shown")
}

// otherEnd opens the terminal whose controlling end is master.
func otherEnd(t *testing.T, master *os.File) *os.File {
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	return terminal
}
