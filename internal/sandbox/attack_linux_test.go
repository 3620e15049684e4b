package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/sandbox"
)

// attack is one attempt that must be refused inside. Its control, the same
// attempt outside, must succeed. Where optional is set, a host may lack the thing,
// and the control is skipped with the host's own reason; noControl says why there
// is none at all; what commands may do is refused to a handler only.
type attack struct {
	attempt     string
	optional    bool
	noControl   string
	commandsMay bool
}

func TestAttacksAreRefusedInsideAndSucceedOutside(t *testing.T) {
	n := native(t, sandbox.Options{Idle: 2})
	t.Run("as a handler", func(t *testing.T) { attacksAreRefused(t, handlerOf(n), kind{}) })
	t.Run("as a command", func(t *testing.T) { attacksAreRefused(t, commandOf(t, n), kind{commands: true}) })
}

// left is what attempts leave where they succeed.
var (
	left       = fmt.Sprintf("tidegate-attack-%d", os.Getpid())
	mountPoint = filepath.Join(os.TempDir(), left)
)

// attempt makes an attempt in a sandbox.
type attempt func(t *testing.T, dir, attempt string) (string, error)

func handlerOf(n runner) attempt {
	return func(t *testing.T, dir, attempt string) (string, error) {
		result, err := n.Run(t.Context(), sandbox.Job{Stdin: []byte(attempt), Dir: dir})
		return string(result.Output), err
	}
}

// commandOf makes attempts by a command in a root that has the probe alone.
func commandOf(t *testing.T, n runner) attempt {
	root := probeRoot(t)
	return func(t *testing.T, dir, attempt string) (string, error) {
		result, err := n.Run(t.Context(), sandbox.Job{Dir: dir, Root: root, Commands: []sandbox.Command{{"/bin/probe", attempt}}})
		return string(result.Output), err
	}
}

// probeRoot is the root of a command that is the probe.
func probeRoot(t *testing.T) string {
	t.Helper()
	program, err := probe()
	require.NoError(t, err)
	data, err := os.ReadFile(program)
	require.NoError(t, err)
	root, err := os.MkdirTemp("", "tidegate-root-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(root)) })
	require.NoError(t, os.Chmod(root, 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(root, "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "bin/probe"), data, 0o755))
	return root
}

// kind is how an attempt is made.
type kind struct{ commands bool }

func attacksAreRefused(t *testing.T, inside attempt, k kind) {
	dir, err := os.MkdirTemp("", "") // short enough for the path of a socket
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("hunter2"), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("/etc/shadow", filepath.Join(dir, "shadow")))
	loopback := listen(t, "tcp", "127.0.0.1:0")
	abstract := listen(t, "unix", "@"+filepath.Base(dir)) // a name is free only when no child of this process holds it
	path := listen(t, "unix", filepath.Join(dir, "socket"))
	victim := start(t)
	for name, a := range map[string]attack{
		"read a host file":                     {attempt: "read " + secret},
		"read /etc/shadow":                     {attempt: "read /etc/shadow"},
		"read through a link in the checkout":  {attempt: "read link"},
		"read /etc/shadow through a link":      {attempt: "read shadow"},
		"climb out of the checkout":            {attempt: "read ../../../../../../../.." + secret},
		"connect to loopback":                  {attempt: "connect tcp " + loopback},
		"connect to an own address":            ownAddress(t),
		"connect to an abstract socket":        {attempt: "connect unix " + abstract},
		"connect to a socket in the checkout":  {attempt: "connect unix " + path},
		"open a packet socket":                 {attempt: "socket 17 3", optional: true},
		"open a vsock socket":                  {attempt: "socket 40 1", optional: true},
		"open a netlink socket":                {attempt: "socket 16 3", optional: true},
		"open an algorithm socket":             {attempt: "socket 38 5", optional: true},
		"write to the checkout":                {attempt: "write new", commandsMay: true},
		"write to the root":                    {attempt: "write /" + left},
		"write to /dev":                        {attempt: "write /dev/" + left},
		"open the console":                     {attempt: "open /dev/console", optional: true},
		"open the memory device":               {attempt: "open /dev/mem", optional: true},
		"open the kernel log":                  {attempt: "open /dev/kmsg", optional: true},
		"open a terminal":                      {attempt: "open /dev/ptmx"},
		"list host processes":                  {attempt: fmt.Sprintf("list /proc/%d", victim)},
		"list processes":                       {attempt: "list /proc", commandsMay: true},
		"read the environment of process 1":    {attempt: "read /proc/1/environ", optional: true},
		"see the files of process 1":           {attempt: "list /proc/1/fd", optional: true},
		"see the root of process 1":            {attempt: "list /proc/1/root", optional: true},
		"load a kernel module":                 {attempt: "open /proc/sys/kernel/modprobe", optional: true},
		"leave by another namespace":           {attempt: "open /proc/1/ns/mnt", optional: true, noControl: "it is not opened for writing"},
		"unshare":                              {attempt: "unshare"},
		"change the root":                      {attempt: "chroot /tmp"},
		"remount the root writable":            {attempt: "remount /", noControl: "it would change the host"},
		"signal a host process":                {attempt: fmt.Sprintf("signal %d", victim)},
		"trace a host process":                 {attempt: fmt.Sprintf("trace %d", victim)},
		"trace process 1":                      {attempt: "trace 1", noControl: "it would disturb the host's"},
		"read the memory of process 1":         {attempt: "open /proc/1/mem", optional: true},
		"mount":                                {attempt: "mount " + mountPoint},
		"make a device":                        {attempt: "mknod " + mountPoint + "-node"},
		"execute a program":                    {attempt: "exec /bin/echo", commandsMay: true},
		"execute itself":                       {attempt: "exec /proc/self/exe", noControl: "it would replace the probe", commandsMay: true},
		"become another user":                  {attempt: "setuid"},
		"make a user namespace":                {attempt: "userns", optional: true},
		"start a process":                      {attempt: "fork", commandsMay: true},
		"use the kernel's keyrings":            {attempt: "keyctl", optional: true},
		"use userfaultfd":                      {attempt: "userfaultfd", optional: true},
		"use io_uring":                         {attempt: "io_uring", optional: true},
		"load a BPF map":                       {attempt: "bpf", optional: true},
		"open a performance counter":           {attempt: "perf", optional: true},
		"set what runs when a program crashes": {attempt: "open /proc/sys/kernel/core_pattern"},
	} {
		if k.commands && a.commandsMay {
			continue
		}
		t.Run(name, func(t *testing.T) {
			out, err := inside(t, dir, a.attempt)
			require.NoError(t, err)
			require.Regexp(t, "^refused: ", out)
			t.Log(out)
			t.Run("control", func(t *testing.T) { control(t, dir, a) })
		})
	}
}

// control makes the attempt outside. What it leaves is removed.
func control(t *testing.T, dir string, a attack) {
	t.Helper()
	if a.noControl != "" {
		t.Skip("no control: " + a.noControl)
	}
	if a.attempt == "mount "+mountPoint {
		require.NoError(t, os.MkdirAll(mountPoint, 0o700))
	}
	t.Cleanup(func() {
		for _, made := range []string{"/" + left, "/dev/" + left, mountPoint, mountPoint + "-node", filepath.Join(dir, "new")} {
			_ = os.Remove(made)
		}
	})
	out := outside(t, dir, a.attempt)
	if os.Getenv(probeVariable) != "" && !strings.HasPrefix(out, "done: ") {
		t.Skip("no control: only root may do it outside: " + out)
	}
	if a.optional && !strings.HasPrefix(out, "done: ") {
		t.Skip("no control: this host does not have it: " + out)
	}
	require.Regexp(t, "^done: ", out)
}

func TestASlotMayUseItsTmpAndTheHarmlessDevices(t *testing.T) {
	n := native(t, sandbox.Options{Idle: 1})
	for _, attempt := range []string{"write /tmp/file", "open /dev/null", "open /dev/zero", "list /dev", "list ."} {
		out, err := inside(t, n, t.TempDir(), attempt, sandbox.Limits{})
		require.NoError(t, err)
		require.Regexp(t, "^done: ", out, attempt)
	}
}

func listen(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l.Addr().String()
}

// ownAddress stands for the metadata service of a cloud: an address of this host
// that is not loopback.
func ownAddress(t *testing.T) attack {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			return attack{attempt: "connect tcp " + listen(t, "tcp", net.JoinHostPort(ip.IP.String(), "0"))}
		}
	}
	return attack{attempt: "connect tcp 169.254.169.254:80", noControl: "this host has no address but loopback"}
}

// start starts a process of the host to be attacked.
func start(t *testing.T) int {
	t.Helper()
	program, err := probe()
	require.NoError(t, err)
	cmd := exec.Command(program)
	_, err = cmd.StdinPipe() // it waits for input
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}
