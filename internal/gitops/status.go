package gitops

// SyncStatus says whether the live objects are what was last released to a
// target, in Argo CD's words.
type SyncStatus string

// The sync states.
const (
	Synced      SyncStatus = "Synced"
	OutOfSync   SyncStatus = "OutOfSync"
	SyncUnknown SyncStatus = "Unknown"
)

// HealthStatus is Argo CD's word for the health of an object or a target.
type HealthStatus string

// The health states, from best to worst.
const (
	Healthy       HealthStatus = "Healthy"
	Suspended     HealthStatus = "Suspended"
	Progressing   HealthStatus = "Progressing"
	Missing       HealthStatus = "Missing"
	Degraded      HealthStatus = "Degraded"
	HealthUnknown HealthStatus = "Unknown"
)

var healthRank = map[HealthStatus]int{Healthy: 0, Suspended: 1, Progressing: 2, Missing: 3, Degraded: 4, HealthUnknown: 5}

// Worse returns the worse of two health states; an application is as healthy
// as the worst of its objects.
func (h HealthStatus) Worse(o HealthStatus) HealthStatus {
	if healthRank[o] > healthRank[h] {
		return o
	}
	return h
}

// Phase is where a rollout stands.
type Phase string

// The phases of a rollout. Those from PhaseHealthy on are final.
const (
	PhasePlanning    Phase = "Planning"    // regions are being compared
	PhaseWaiting     Phase = "Waiting"     // at a gate; holds no lock
	PhaseApproved    Phase = "Approved"    // gates have opened; asks for the stage's lock
	PhaseProgressing Phase = "Progressing" // objects are being applied or waited for
	PhaseDegraded    Phase = "Degraded"    // a target has failed, others still work
	PhaseHealthy     Phase = "Healthy"     // every reachable target is applied and healthy
	PhaseDeleted     Phase = "Deleted"     // every reachable target is deleted
	PhaseFailed      Phase = "Failed"
	PhaseSuperseded  Phase = "Superseded" // stopped at a safe point for a newer release
	PhaseRejected    Phase = "Rejected"   // somebody said no at a gate
	PhaseClosed      Phase = "Closed"     // a waiting candidate that a newer one replaced
	PhaseAborted     Phase = "Aborted"    // canceled or terminated from outside
)

// Final says whether a rollout in this phase has ended.
func (p Phase) Final() bool {
	switch p {
	case PhaseHealthy, PhaseDeleted, PhaseFailed, PhaseSuperseded, PhaseRejected, PhaseClosed, PhaseAborted:
		return true
	default:
		return false
	}
}

// TargetPhase is where one target of a rollout stands.
type TargetPhase string

// The phases of a target within a rollout.
const (
	TargetPending     TargetPhase = "Pending"
	TargetPlanned     TargetPhase = "Planned"
	TargetApplying    TargetPhase = "Applying"
	TargetWaiting     TargetPhase = "Waiting" // applied, not healthy yet
	TargetPruneGate   TargetPhase = "PruneGate"
	TargetSoaking     TargetPhase = "Soaking" // healthy, and watched for a while
	TargetHealthy     TargetPhase = "Healthy"
	TargetDeleted     TargetPhase = "Deleted"
	TargetFailed      TargetPhase = "Failed"
	TargetUnreachable TargetPhase = "Unreachable"
	TargetStopped     TargetPhase = "Stopped" // left at a safe point, because the rollout was superseded or canceled
)

// Final says whether a target has come to an end in its rollout.
func (p TargetPhase) Final() bool {
	switch p {
	case TargetHealthy, TargetDeleted, TargetFailed, TargetUnreachable, TargetStopped:
		return true
	default:
		return false
	}
}
