package sandbox_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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
			cmd := as(t, "-test.v", "-test.run=^("+strings.Join([]string{
				"TestAttacksAreRefusedInsideAndSucceedOutside", "TestAJobThatPassesALimitOfItsSlotIsKilledAndItIsSaidWhich", "TestCommands.*",
				"TestAGrandchildThatLeavesEndsWithTheJob", "TestASlotReadsACheckoutThatIsClosedToOthers", "TestASlotRunsTheHandlerInItsOwnWorld",
			}, "|")+")$")
			cmd.Env = append(os.Environ(), probeVariable+"="+program, "TMPDIR="+dir)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			require.NoError(t, cmd.Run(), "%s", &out)
			require.Contains(t, out.String(), "--- PASS: TestAttacksAreRefusedInsideAndSucceedOutside")
			require.NotContains(t, out.String(), "no native sandbox here")
		})
	}
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
