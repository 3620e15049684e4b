package sandbox

// Finding is one thing that a sandbox needs, and whether this host offers it.
type Finding struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Detail string `json:"detail,omitempty"` // what was found
	Remedy string `json:"remedy,omitempty"` // what to do about it
}

// State says how well a host offers something.
type State string

const (
	// StateOK is there as it must be.
	StateOK State = "ok"
	// StateDegraded is not there; the sandbox holds without it.
	StateDegraded State = "degraded"
	// StateMissing is not there, and there is no sandbox without it.
	StateMissing State = "missing"
)

// NativeFinding is the name of the finding that tries it all, with the slot program.
const NativeFinding = "native sandbox"

// ContainerSettings are what a container needs for the native sandbox, as YAML of
// a Kubernetes container; Docker's options are in its comments.
const ContainerSettings = `securityContext:                  # docker run:
  runAsUser: 1000                 # --user 1000
  allowPrivilegeEscalation: false # --security-opt no-new-privileges
  capabilities:
    drop: [ALL]                   # --cap-drop ALL
  # The default profile refuses namespaces.
  seccompProfile:
    type: Unconfined              # --security-opt seccomp=unconfined
  appArmorProfile:
    type: Unconfined              # --security-opt apparmor=unconfined
  # Only for plugins that need /proc, and with the pod's hostUsers: false.
  procMount: Unmasked             # --security-opt systempaths=unconfined

# Hosts that restrict user namespaces must allow them, by sysctl:
#   kernel.unprivileged_userns_clone=1                (Debian)
#   kernel.apparmor_restrict_unprivileged_userns=0    (Ubuntu)
# As user 0 with SYS_ADMIN each sandbox has a user id of its own, and
# cgroups where they are writable.
# Give this to a worker with --roles render only: it has no credentials
# of Git or of regions.
`
