package gitops

// HookDeletePolicy says when the object of a hook is deleted, in Argo CD's words.
type HookDeletePolicy string

// The policies. BeforeHookCreation is what holds when a hook names none.
const (
	BeforeHookCreation HookDeletePolicy = "BeforeHookCreation" // right before it runs again
	HookSucceeded      HookDeletePolicy = "HookSucceeded"
	HookFailed         HookDeletePolicy = "HookFailed"
)

// HookPhases are the phases in which hooks run, in order; SyncFail instead of what
// is left when a sync fails, the last two when a target is deleted.
var HookPhases = []StepPhase{PreSync, Sync, PostSync, SyncFail, PreDelete, PostDelete}
