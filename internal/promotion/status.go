package promotion

import (
	"cmp"
	"slices"
	"time"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Status is what people ask of a Delivery: a compact view of its State.
type Status struct {
	Delivery string              `json:"delivery"` // project/name
	Spec     string              `json:"spec,omitempty"`
	Sync     gitops.SyncStatus   `json:"sync"`   // Synced when every target is
	Health   gitops.HealthStatus `json:"health"` // the worst of the targets'
	Newest   *ReleaseStatus      `json:"newest,omitempty"`
	// Rendering says that a newer release may be on its way.
	Rendering bool `json:"rendering,omitempty"`
	// Unrendered are the commits of the last render when it has failed.
	Unrendered []string       `json:"unrendered,omitempty"`
	Stages     []StageStatus  `json:"stages"`
	Targets    []TargetStatus `json:"targets"`
	Conditions []Condition    `json:"conditions,omitempty"`
	// Quarantined are releases that rollbacks have left behind.
	Quarantined []Quarantined `json:"quarantined,omitempty"`
}

// ReleaseStatus names a release for people.
type ReleaseStatus struct {
	Number   int       `json:"number"`
	Revision string    `json:"revision"`
	Created  time.Time `json:"created"`
}

// StageStatus is where one stage stands.
type StageStatus struct {
	Name    string          `json:"name"`
	Current *ReleaseStatus  `json:"current,omitempty"` // healthy here last
	Failed  *ReleaseStatus  `json:"failed,omitempty"`  // not retried until a sync or a newer one
	Next    *ReleaseStatus  `json:"next,omitempty"`    // queues behind what is running
	Running *RolloutStatus  `json:"running,omitempty"`
	Waiting []RolloutStatus `json:"waiting,omitempty"` // at a gate, newest release first
	Retired bool            `json:"retired,omitempty"`
}

// RolloutStatus is one open rollout.
type RolloutStatus struct {
	Number      int          `json:"number"`
	Release     int          `json:"release"`
	Revision    string       `json:"revision"`
	Phase       gitops.Phase `json:"phase"`
	Message     string       `json:"message,omitempty"`
	CatchUp     bool         `json:"catchUp,omitempty"`
	Delete      bool         `json:"delete,omitempty"`
	Stopping    bool         `json:"stopping,omitempty"`
	Gates       []string     `json:"gates,omitempty"`
	PlanDigest  string       `json:"planDigest,omitempty"`
	Healthy     int          `json:"healthy"` // targets
	Broken      int          `json:"broken"`
	Unreachable int          `json:"unreachable"`
	Total       int          `json:"total"`
	Started     time.Time    `json:"started"`
}

// TargetStatus is where one target stands.
type TargetStatus struct {
	Name        string              `json:"name"`
	Stage       string              `json:"stage"`
	Region      string              `json:"region"`
	Release     int                 `json:"release,omitempty"` // the last one that was begun here
	Revision    string              `json:"revision,omitempty"`
	Sync        gitops.SyncStatus   `json:"sync"`
	Health      gitops.HealthStatus `json:"health"`
	Message     string              `json:"message,omitempty"`
	Unreachable bool                `json:"unreachable,omitempty"`
	Since       time.Time           `json:"since,omitzero"`
}

// Status returns the view for the API and the command line.
func (s State) Status() Status {
	status := Status{
		Delivery: s.Spec.Key(), Spec: s.Spec.Digest, Newest: s.releaseStatus(s.Newest()),
		Rendering: s.Render.Running || s.Render.Dirty, Sync: gitops.Synced, Health: gitops.Healthy,
		Stages: []StageStatus{}, Targets: []TargetStatus{}, Conditions: s.clone().Conditions, Quarantined: s.clone().Quarantined,
	}
	if s.Render.Error != "" {
		for _, source := range s.Render.Sources {
			status.Unrendered = append(status.Unrendered, source.Commit)
		}
	}
	for _, st := range s.Stages {
		status.Stages = append(status.Stages, s.stageStatus(st))
	}
	if s.Deletion != nil || len(s.Leaving) > 0 {
		status.Stages = append(status.Stages, s.deletionStatus())
	}
	for _, l := range s.Leaving {
		status.Targets = append(status.Targets, s.leavingStatus(l))
		status.Sync = gitops.OutOfSync
	}
	for _, t := range s.Targets {
		status.Targets = append(status.Targets, s.targetStatus(t))
		status.Sync, status.Health = worseSync(status.Sync, t.Sync), status.Health.Worse(t.Health)
	}
	return status
}

func (s State) stageStatus(st StageState) StageStatus {
	status := StageStatus{
		Name: st.Name, Retired: st.Retired, Current: s.releaseStatus(st.Current),
		Failed: s.releaseStatus(st.Failed), Next: s.releaseStatus(st.Next),
	}
	if st.Running != nil {
		running := s.rolloutStatus(*st.Running)
		status.Running = &running
	}
	for _, w := range st.Waiting {
		if !w.Stopping {
			status.Waiting = append(status.Waiting, s.rolloutStatus(w))
		}
	}
	slices.SortStableFunc(status.Waiting, func(a, b RolloutStatus) int { return cmp.Compare(b.Release, a.Release) })
	return status
}

func (s State) rolloutStatus(r Rollout) RolloutStatus {
	status := RolloutStatus{
		Number: r.Number, Release: r.Release, Phase: r.Phase, Message: r.Message, CatchUp: r.CatchUp, Delete: r.Delete,
		Stopping: r.Stopping, PlanDigest: r.PlanDigest, Healthy: r.Healthy, Broken: r.Broken,
		Unreachable: r.Unreachable, Total: r.Total, Started: r.Started,
	}
	for _, g := range r.Gates {
		status.Gates = append(status.Gates, g.Name)
	}
	if release, ok := s.Release(r.Release); ok {
		status.Revision = release.Revision()
	}
	return status
}

func (s State) targetStatus(t TargetState) TargetStatus {
	return TargetStatus{
		Name: t.Name, Stage: t.Stage, Region: t.Region, Release: t.Release, Revision: s.revisionAt(t),
		Sync: t.Sync, Health: t.Health, Message: t.Message, Unreachable: t.Unreachable, Since: t.Since,
	}
}

// revisionAt is the commit that a target runs: of the source that it follows.
func (s State) revisionAt(t TargetState) string {
	release, ok := s.Release(t.Release)
	if !ok {
		return ""
	}
	declared, ok := s.Spec.Target(t.Name)
	for i, source := range release.Sources {
		if i > 0 && ok && source.Ref == declared.Source.Ref() {
			return source.Commit
		}
	}
	return release.Revision()
}

func (s State) releaseStatus(number int) *ReleaseStatus {
	release, ok := s.Release(number)
	if !ok {
		return nil
	}
	return &ReleaseStatus{Number: number, Revision: release.Revision(), Created: release.Created}
}

// worseSync prefers what needs attention: a difference that is known, then one
// that is not.
func worseSync(a, b gitops.SyncStatus) gitops.SyncStatus {
	switch {
	case a == gitops.OutOfSync || b == gitops.OutOfSync:
		return gitops.OutOfSync
	case a == gitops.SyncUnknown || b == gitops.SyncUnknown:
		return gitops.SyncUnknown
	default:
		return gitops.Synced
	}
}
