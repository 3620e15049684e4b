package sandbox_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() {
	programs["no-new-privileges"] = func() {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			panic(err)
		}
		panic(unix.Exec("/proc/self/exe", os.Args[1:], os.Environ()))
	}
}

// otherUsers are ways to run this test binary with less than root has.
var otherUsers = map[string]func(t *testing.T, args ...string) *exec.Cmd{
	"as another user": asNobody,
	"as another user who can gain no privileges": func(t *testing.T, args ...string) *exec.Cmd {
		return asNobody(t, append([]string{"no-new-privileges"}, args...)...)
	},
	"as root of a user namespace with one id": func(t *testing.T, args ...string) *exec.Cmd {
		cmd := asNobody(t, args...)
		ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 65534, Size: 1}}
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids, Credential: &syscall.Credential{NoSetGroups: true},
		}
		return cmd
	},
}

// TestTheSandboxHoldsForOtherUsers runs what is told of the sandbox again, by users
// who may not give user ids away.
func TestTheSandboxHoldsForOtherUsers(t *testing.T) {
	if os.Getenv(probeVariable) != "" {
		t.Skip("this is one of them")
	}
	needNative(t)
	dir, err := os.MkdirTemp("", "tidegate-users-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o777))
	program, err := probe()
	require.NoError(t, err)
	data, err := os.ReadFile(program)
	require.NoError(t, err)
	program = filepath.Join(dir, "probe")
	require.NoError(t, os.WriteFile(program, data, 0o755))
	for name, as := range otherUsers {
		t.Run(name, func(t *testing.T) {
			cmd := as(t, tellTests()...)
			cmd.Env = append(os.Environ(), probeVariable+"="+program, "TMPDIR="+dir)
			passes(t, cmd)
		})
	}
	t.Run("in a container", func(t *testing.T) {
		passes(t, inContainer(t, dir, append([]string{filepath.Join(dir, "test")}, tellTests()...)))
	})
}

// tellTests are the arguments of a test binary that runs what holds for any user.
func tellTests() []string {
	return []string{"-test.v", "-test.run=^(" + strings.Join([]string{
		"TestAttacksAreRefusedInsideAndSucceedOutside", "TestAJobThatPassesALimitOfItsSlotIsKilledAndItIsSaidWhich", "TestCommandsRunOne.*", "TestCommandsFind.*",
		"TestCommandsThat.*", "TestAGrandchildThatLeavesEndsWithTheJob", "TestASlotReadsACheckoutThatIsClosedToOthers", "TestASlotRunsTheHandlerInItsOwnWorld",
	}, "|") + ")$"}
}

func passes(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Run(), "%s", &out)
	require.Contains(t, out.String(), "--- PASS: TestAttacksAreRefusedInsideAndSucceedOutside")
	require.NotContains(t, out.String(), "no native sandbox here")
}

// inContainer runs this test binary by runc with the settings that
// sandbox.ContainerSettings asks for, and with the parts of /proc hidden that
// containers usually hide.
func inContainer(t *testing.T, dir string, args []string) *exec.Cmd {
	t.Helper()
	runc, err := exec.LookPath("runc")
	if err != nil {
		t.Skip("there is no runc to make a container with")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	binary, err := os.ReadFile(self)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "test"), binary, 0o755))
	bundle := t.TempDir()
	mounts := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc"},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "mode=755"}},
		{Destination: "/tmp", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "nodev", "mode=1777"}},
		{Destination: dir, Type: "bind", Source: dir, Options: []string{"bind"}},
	}
	for _, name := range []string{"bin", "lib", "lib64", "sbin", "usr"} {
		at := "/" + name
		require.NoError(t, os.MkdirAll(filepath.Join(bundle, "rootfs"), 0o755))
		if link, err := os.Readlink(at); err == nil {
			require.NoError(t, os.Symlink(link, filepath.Join(bundle, "rootfs", name)))
		} else if _, err := os.Stat(at); err == nil {
			mounts = append(mounts, specs.Mount{Destination: at, Type: "bind", Source: at, Options: []string{"rbind", "ro"}})
		}
	}
	spec := specs.Spec{
		Version: specs.Version, Root: &specs.Root{Path: "rootfs", Readonly: true}, Mounts: mounts,
		Process: &specs.Process{
			Args: args, Cwd: "/", User: specs.User{UID: 1000, GID: 1000}, NoNewPrivileges: true,
			Env: []string{"PATH=/usr/bin:/bin", "TMPDIR=" + dir, probeVariable + "=" + filepath.Join(dir, "probe")},
		},
		Linux: &specs.Linux{
			Namespaces:    []specs.LinuxNamespace{{Type: specs.PIDNamespace}, {Type: specs.NetworkNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace}, {Type: specs.MountNamespace}},
			MaskedPaths:   []string{"/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/sched_debug", "/sys/firmware", "/proc/scsi"},
			ReadonlyPaths: []string{"/proc/asound", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		},
	}
	data, err := json.Marshal(spec)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(bundle, "config.json"), data, 0o600))
	return exec.Command(runc, "--root", filepath.Join(bundle, "state"), "run", "--bundle", bundle, "tidegate-test-"+filepath.Base(filepath.Dir(bundle)))
}

func TestTheHostsRootWithoutItsCapabilitiesIsRefused(t *testing.T) {
	program := needNative(t)
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("it takes root and setpriv to give up capabilities")
	}
	self, err := os.Open("/proc/self/exe")
	require.NoError(t, err)
	defer self.Close()
	cmd := exec.Command(setpriv, "--bounding-set", "-sys_admin", "--inh-caps", "-all", "/proc/self/fd/3", "worker", program, "/")
	cmd.ExtraFiles = []*os.File{self}
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "without the capability SYS_ADMIN; give the worker that capability, or run it as another user")
}
