package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/errgroup"

	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/starter/flows"
	"github.com/tidegate/tidegate/workflows"
)

const (
	maxQueries   = 16              // at a time, for one request
	gatherWithin = 8 * time.Second // for one request
)

// DeliveryName is the part of a path that names a Delivery. (An embedded struct
// must be exported, or its parameters are not read.)
type DeliveryName struct {
	Project string `path:"project"`
	Name    string `path:"name"`
}

func (p DeliveryName) key() string { return p.Project + "/" + p.Name }

func unknownDelivery(key string) string {
	return "there is no Delivery " + key + "; `tidegate get deliveries` lists them, `tidegate get problems` says what the catalog refuses"
}

func (s server) listDeliveries(ctx context.Context, _ *struct{}) (*answer[Deliveries], error) {
	all, err := gather[promotion.Status](ctx, s, "", workflows.QueryStatus)
	if err != nil {
		return nil, err
	}
	list := Deliveries{Deliveries: make([]Delivery, 0, len(all))}
	for _, a := range all {
		d := Delivery{Delivery: a.key}
		if a.err == nil {
			d.Status = &a.value
		} else {
			d.Error = problemOf(a.err)
		}
		list.Deliveries = append(list.Deliveries, d)
	}
	return &answer[Deliveries]{list}, nil
}

func (s server) getDelivery(ctx context.Context, in *DeliveryName) (*answer[promotion.Status], error) {
	var status promotion.Status
	err := s.Asker.Query(ctx, workflows.DeliveryID(in.key()), workflows.QueryStatus, &status)
	return &answer[promotion.Status]{status}, explain(err, unknownDelivery(in.key()))
}

// targetFilter selects targets; an empty field selects all.
type targetFilter struct {
	Delivery string `query:"delivery" doc:"project/name, or a name"`
	Region   string `query:"region"`
	Stage    string `query:"stage"`
}

func (s server) listTargets(ctx context.Context, in *targetFilter) (*answer[Targets], error) {
	all, err := gather[promotion.Status](ctx, s, in.Delivery, workflows.QueryStatus)
	if err != nil {
		return nil, err
	}
	list := Targets{Targets: []Target{}}
	for _, a := range all {
		if a.err != nil {
			list.Errors = append(list.Errors, a.key+": "+problemOf(a.err))
			continue
		}
		for _, t := range inOrderOfStages(a.value) {
			if (in.Region == "" || in.Region == t.Region) && (in.Stage == "" || in.Stage == t.Stage) {
				list.Targets = append(list.Targets, Target{Delivery: a.key, TargetStatus: t})
			}
		}
	}
	return &answer[Targets]{list}, nil
}

// inOrderOfStages is the targets in the order in which a release reaches them.
func inOrderOfStages(status promotion.Status) []promotion.TargetStatus {
	order := map[string]int{}
	for i, stage := range status.Stages {
		order[stage.Name] = i
	}
	return slices.SortedStableFunc(slices.Values(status.Targets), func(a, b promotion.TargetStatus) int {
		return cmp.Compare(order[a.Stage], order[b.Stage])
	})
}

func (s server) sync(ctx context.Context, in *struct {
	DeliveryName
	Key  string `header:"Idempotency-Key"`
	Body Sync
},
) (*answer[Outcome], error) {
	scope := in.Body.scope()
	if err := check(scope); err != nil {
		return nil, err
	}
	order := flows.Order{
		Workflow: workflows.DeliveryID(in.key()), Name: workflows.UpdateSync, Key: in.Key,
		Arg: workflows.SyncRequest{By: in.Body.By, Scope: scope, Targets: in.Body.Targets},
	}
	var result workflows.SyncResult
	err := s.Teller.Update(ctx, order, &result)
	return &answer[Outcome]{Outcome{Message: result.Message}}, explain(err, unknownDelivery(in.key()))
}

func (s server) rollback(ctx context.Context, in *struct {
	DeliveryName
	Key  string `header:"Idempotency-Key"`
	Body Rollback
},
) (*answer[Outcome], error) {
	order := flows.Order{Workflow: workflows.DeliveryID(in.key()), Name: workflows.UpdateRollback, Key: in.Key, Arg: workflows.RollbackRequest{
		By: in.Body.By, Reason: in.Body.Reason, Stage: in.Body.Stage, Release: in.Body.Release,
	}}
	var result workflows.RollbackResult
	err := s.Teller.Update(ctx, order, &result)
	return &answer[Outcome]{Outcome{Message: result.Message}}, explain(err, unknownDelivery(in.key()))
}

func (s server) abandon(ctx context.Context, in *struct {
	DeliveryName
	Key  string `header:"Idempotency-Key"`
	Body Abandon
},
) (*answer[Outcome], error) {
	order := flows.Order{Workflow: workflows.DeliveryID(in.key()), Name: workflows.UpdateAbandon, Key: in.Key, Arg: workflows.AbandonRequest{By: in.Body.By, Targets: in.Body.Targets}}
	var result workflows.AbandonResult
	err := s.Teller.Update(ctx, order, &result)
	return &answer[Outcome]{Outcome{Message: result.Message}}, explain(err, unknownDelivery(in.key()))
}

// asked is what one Delivery answered.
type asked[T any] struct {
	key   string
	value T
	err   error
}

// gather asks the Deliveries that want names, all when it is empty, in
// parallel. It fails when none of them answers.
func gather[T any](ctx context.Context, s server, want, query string) ([]asked[T], error) {
	ctx, cancel := context.WithTimeout(ctx, gatherWithin)
	defer cancel()
	keys, err := s.keys(ctx, want)
	if err != nil {
		return nil, err
	}
	all := make([]asked[T], len(keys))
	var group errgroup.Group
	group.SetLimit(maxQueries)
	for i, key := range keys {
		group.Go(func() error {
			all[i].key = key
			all[i].err = s.Asker.Query(ctx, workflows.DeliveryID(key), query, &all[i].value)
			return nil
		})
	}
	_ = group.Wait() // errors are among the answers
	if len(all) > 0 && !slices.ContainsFunc(all, func(a asked[T]) bool { return !errors.Is(a.err, flows.ErrUnavailable) }) {
		return nil, huma.Error503ServiceUnavailable(tryAgain)
	}
	return all, nil
}

// keys are the Deliveries that want names: one by project/name, those of a name, or
// all; of the catalog, and those that it no longer declares and that still run.
func (s server) keys(ctx context.Context, want string) ([]string, error) {
	cat, err := s.Shelf.Catalog(ctx)
	if err != nil {
		return nil, huma.Error503ServiceUnavailable(err.Error())
	}
	all := map[string]bool{}
	for _, d := range cat.Deliveries {
		all[d.Key()] = true
	}
	retiring, err := s.Asker.Retiring(ctx, all)
	if err != nil {
		return nil, explain(err, "")
	}
	for _, key := range retiring {
		all[key] = true
	}
	var keys []string
	for key := range all {
		if want == "" || want == key || strings.HasSuffix(key, "/"+want) {
			keys = append(keys, key)
		}
	}
	if want != "" && len(keys) == 0 {
		return nil, huma.Error404NotFound(unknownDelivery(want))
	}
	slices.SortFunc(keys, strings.Compare)
	return keys, nil
}

// problemOf says why a Delivery did not answer.
func problemOf(err error) string {
	switch {
	case errors.Is(err, flows.ErrUnknown):
		return "its workflow does not run yet"
	case errors.Is(err, flows.ErrUnavailable):
		return tryAgain
	}
	return err.Error()
}
