package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/starter/flows"
	"github.com/tidegate/tidegate/workflows"
)

// RolloutName is the part of a path that names a rollout.
type RolloutName struct {
	DeliveryName
	Stage  string `path:"stage"`
	Number int    `path:"number" minimum:"1"`
}

func (k RolloutName) workflow() string { return workflows.RolloutID(k.key(), k.Stage, k.Number) }

func (k RolloutName) String() string { return fmt.Sprintf("%s/%s/%d", k.key(), k.Stage, k.Number) }

func (k RolloutName) unknown() string {
	return fmt.Sprintf("there is no rollout %s; `tidegate rollout list %s` lists them", k, k.key())
}

func (s server) listRollouts(ctx context.Context, in *struct {
	Delivery string `query:"delivery" doc:"project/name, or a name; all when empty"`
},
) (*answer[Rollouts], error) {
	all, err := gather[promotion.State](ctx, s, in.Delivery, workflows.QueryState)
	if err != nil {
		return nil, err
	}
	list := Rollouts{Rollouts: []Rollout{}}
	for _, a := range all {
		if a.err != nil {
			list.Errors = append(list.Errors, a.key+": "+problemOf(a.err))
			continue
		}
		list.Rollouts = append(list.Rollouts, rolloutsOf(a.key, a.value)...)
	}
	return &answer[Rollouts]{list}, nil
}

// rolloutsOf lists what a Delivery remembers, newest first.
func rolloutsOf(delivery string, state promotion.State) []Rollout {
	var list []Rollout
	for _, r := range slices.Concat(state.Rollouts, state.OpenRollouts()) {
		rollout := Rollout{
			ID: fmt.Sprintf("%s/%s/%d", delivery, r.Stage, r.Number), Delivery: delivery, Stage: r.Stage, Number: r.Number, Release: r.Release,
			Phase: r.Phase, Message: r.Message, PlanDigest: r.PlanDigest, CatchUp: r.CatchUp, Delete: r.Delete, Rollback: r.Back,
			Healthy: r.Healthy, Broken: r.Broken, Unreachable: r.Unreachable, Total: r.Total, Started: r.Started,
		}
		for _, g := range r.Gates {
			rollout.Gates = append(rollout.Gates, g.Name)
		}
		if !r.Finished.IsZero() {
			rollout.Finished = &r.Finished
		}
		if release, ok := state.Release(r.Release); ok {
			rollout.Revision, rollout.Commits = release.Revision(), commitsOf(release)
		}
		list = append(list, rollout)
	}
	slices.SortFunc(list, func(a, b Rollout) int { return b.Number - a.Number })
	return list
}

func commitsOf(release gitops.Release) []string {
	var commits []string
	for _, source := range release.Sources {
		commits = append(commits, source.Commit)
	}
	commits = append(commits, release.Revisions...)
	slices.Sort(commits)
	return slices.Compact(commits)
}

func (s server) getRollout(ctx context.Context, in *RolloutName) (*answer[workflows.RolloutStatus], error) {
	status, err := s.rollout(ctx, *in)
	if err == nil {
		err = s.sayWhatIsWaitedFor(ctx, in.workflow(), status.Targets)
	}
	return &answer[workflows.RolloutStatus]{status}, explain(err, in.unknown())
}

// sayWhatIsWaitedFor gives the targets that wait for health the words of their
// waits: which object, in what condition, for how long.
func (s server) sayWhatIsWaitedFor(ctx context.Context, workflow string, targets []workflows.TargetStatus) error {
	waits := func(t workflows.TargetStatus) bool {
		return (t.Phase == gitops.TargetWaiting || t.Phase == gitops.TargetSoaking) && t.Message == ""
	}
	if !slices.ContainsFunc(targets, waits) {
		return nil
	}
	words, err := s.Asker.Words(ctx, workflow)
	if err != nil {
		return err
	}
	for i := range targets {
		if t := &targets[i]; waits(*t) {
			t.Message = words[workflows.WaitQueue(t.Region)]
		}
	}
	return nil
}

// rollout asks the workflow, or reads the record of one that Temporal has
// forgotten.
func (s server) rollout(ctx context.Context, k RolloutName) (workflows.RolloutStatus, error) {
	var status workflows.RolloutStatus
	err := s.Asker.Query(ctx, k.workflow(), workflows.QueryStatus, &status)
	if !errors.Is(err, flows.ErrUnknown) {
		return status, err
	}
	if record, recordErr := s.Shelf.Record(ctx, k.workflow()); recordErr == nil {
		return record, nil
	}
	return status, err
}

// decision is a request to approve or reject.
type decision struct {
	RolloutName
	Key  string `header:"Idempotency-Key" doc:"a repeated request with the same key is carried out once"`
	Body Decision
}

func (s server) approve(ctx context.Context, in *decision) (*answer[Outcome], error) {
	return s.decide(ctx, workflows.UpdateApprove, in)
}

func (s server) reject(ctx context.Context, in *decision) (*answer[Outcome], error) {
	return s.decide(ctx, workflows.UpdateReject, in)
}

func (s server) abort(ctx context.Context, in *struct {
	RolloutName
	Key  string `header:"Idempotency-Key" doc:"a repeated request with the same key is carried out once"`
	Body Abort
},
) (*answer[Outcome], error) {
	return s.tell(ctx, in.RolloutName, flows.Order{Name: workflows.UpdateAbort, Key: in.Key, Arg: workflows.Abort{By: in.Body.By, Reason: in.Body.Reason}})
}

// decide has a rollout take a decision, and answers when it has.
func (s server) decide(ctx context.Context, verb string, in *decision) (*answer[Outcome], error) {
	return s.tell(ctx, in.RolloutName, flows.Order{
		Name: verb, Key: in.Key, Arg: workflows.Decision{Gate: in.Body.Gate, PlanDigest: in.Body.PlanDigest, By: in.Body.By, Reason: in.Body.Reason},
	})
}

// tell gives a rollout an order.
func (s server) tell(ctx context.Context, rollout RolloutName, order flows.Order) (*answer[Outcome], error) {
	var result workflows.DecisionResult
	order.Workflow = rollout.workflow()
	err := s.Teller.Update(ctx, order, &result)
	if errors.Is(err, flows.ErrUnknown) {
		if status, known := s.rollout(ctx, rollout); known == nil {
			return nil, huma.Error409Conflict(fmt.Sprintf("rollout %s has ended (%s)", rollout, status.Phase))
		}
	}
	return &answer[Outcome]{Outcome{Message: result.Message}}, explain(err, rollout.unknown())
}
