// Package apitest is workflows for tests of the API and of what calls it: they
// answer what a test says, over a real listener.
package apitest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidegate/tidegate/internal/artifact"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/starter/api"
	"github.com/tidegate/tidegate/starter/flows"
	"github.com/tidegate/tidegate/workflows"
)

// World is the workflows and the artifact store as the API sees them. Its
// methods may be called while it is served.
type World struct {
	mu      sync.Mutex
	catalog gitops.Catalog
	answers map[string]any // by workflow id and query: what is answered, or an error
	records map[string]workflows.RolloutStatus

	// Orders are the updates that came, Signals the signals, by workflow id.
	Orders  []flows.Order
	Signals []string
	// Previews are what was asked to be previewed.
	Previews []workflows.PreviewInput
	// Result is what an update results in; Refuse is its error instead.
	Result string
	Refuse error
	// Said are the words of activities, by task queue.
	Said map[string]string
	// Leaving are Deliveries that run and are not declared.
	Leaving []string
}

// New returns a world without any workflow.
func New() *World {
	return &World{answers: map[string]any{}, records: map[string]workflows.RolloutStatus{}}
}

// Serve answers the API of the world until the test ends, and returns its URL.
func (w *World) Serve(t *testing.T) string {
	server := httptest.NewServer(api.New(api.Options{Asker: w, Teller: w, Shelf: w, Version: "test"}))
	t.Cleanup(server.Close)
	return server.URL
}

// Declare puts Deliveries into the catalog, by key.
func (w *World) Declare(project string, names ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		w.catalog.Deliveries = append(w.catalog.Deliveries, gitops.Delivery{Project: project, Name: name})
	}
}

// Set makes a workflow answer a query with a value, or an error.
func (w *World) Set(workflow, query string, answer any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[workflow+" "+query] = answer
}

// SetRollout makes a rollout answer.
func (w *World) SetRollout(status workflows.RolloutStatus) {
	w.Set(workflows.RolloutID(status.Delivery, status.Stage, status.Number), workflows.QueryStatus, status)
}

// SetRecord keeps the record of a rollout that Temporal has forgotten.
func (w *World) SetRecord(status workflows.RolloutStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records[workflows.RolloutID(status.Delivery, status.Stage, status.Number)] = status
}

// SetDelivery makes a Delivery answer both of its queries.
func (w *World) SetDelivery(state promotion.State) {
	id := workflows.DeliveryID(state.Spec.Key())
	w.Set(id, workflows.QueryState, state)
	w.Set(id, workflows.QueryStatus, state.Status())
}

// Query implements api.Asker.
func (w *World) Query(_ context.Context, workflow, query string, result any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	answer, known := w.answers[workflow+" "+query]
	if err, failed := answer.(error); failed {
		return err
	}
	if !known {
		return fmt.Errorf("query %s: %w", workflow, flows.ErrUnknown)
	}
	return convert(answer, result)
}

// Words implements api.Asker.
func (w *World) Words(context.Context, string) (map[string]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.Said), nil
}

// Retiring implements api.Asker.
func (w *World) Retiring(context.Context, map[string]bool) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.Leaving), nil
}

// Update implements api.Teller.
func (w *World) Update(_ context.Context, o flows.Order, result any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Orders = append(w.Orders, o)
	if w.Refuse != nil {
		return w.Refuse
	}
	return convert(api.Outcome{Message: w.Result}, result)
}

// Preview implements api.Teller: every target is planned, and changes nothing.
func (w *World) Preview(_ context.Context, _ string, in workflows.PreviewInput, result *workflows.PreviewResult) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Previews = append(w.Previews, in)
	for _, stage := range in.Stages {
		status := workflows.RolloutStatus{Delivery: stage.Delivery, Stage: stage.Stage, Release: stage.Release, Revision: stage.Revision, Phase: gitops.PhasePlanning, PlanDigest: "plan"}
		for _, t := range stage.Targets {
			status.Targets = append(status.Targets, workflows.TargetStatus{Name: t.Target.Name, Region: t.Target.Region, Phase: gitops.TargetPlanned, Apply: 1, Changes: []string{"change ConfigMap shop/settings\n  .data.color: \"blue\" -> \"green\""}})
		}
		result.Stages = append(result.Stages, status)
	}
	return w.Refuse
}

// Signal implements api.Teller.
func (w *World) Signal(_ context.Context, workflow, signal string, _ any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Signals = append(w.Signals, workflow+" "+signal)
	return w.Refuse
}

// Catalog implements api.Shelf.
func (w *World) Catalog(context.Context) (gitops.Catalog, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.catalog, nil
}

// Record implements api.Shelf.
func (w *World) Record(_ context.Context, workflow string) (workflows.RolloutStatus, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	record, known := w.records[workflow]
	if !known {
		return record, artifact.ErrNotFound
	}
	return record, nil
}

// convert goes through JSON, as Temporal does.
func convert(from, to any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}

// Began is when everything in the samples began.
func Began() time.Time { return time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC) }

// The commits of Shop's two releases.
const (
	OldCommit = "a1b2c3d4e5f60718293a4b5c6d7e8f9001122334"
	NewCommit = "0f1e2d3c4b5a69788796a5b4c3d2e1f000112233"
)

// Shop is a Delivery of four targets in three stages: release 2 is healthy in
// dev and waits at production's gate as rollout 5, release 1 runs there.
func Shop() promotion.State {
	regions := []struct{ stage, region string }{{"dev", "dev-1"}, {"staging", "staging-1"}, {"production", "eu-1"}, {"production", "us-1"}}
	gate := gitops.Gate{Name: "approval", Kind: gitops.GateApproval}
	state := promotion.State{
		Version: promotion.StateVersion,
		Spec: gitops.Delivery{Project: "default", Name: "shop", Stages: []gitops.Stage{
			{Name: "dev", Targets: []string{"shop-dev-1"}},
			{Name: "staging", Targets: []string{"shop-staging-1"}},
			{Name: "production", Targets: []string{"shop-eu-1", "shop-us-1"}, Gates: []gitops.Gate{gate}},
		}},
		Releases: []gitops.Release{release(1, OldCommit), release(2, NewCommit)},
		Stages: []promotion.StageState{
			{Name: "dev", Current: 2, LastStarted: 2},
			{Name: "staging", Current: 2, LastStarted: 2},
			{Name: "production", Current: 1, LastStarted: 1, Offered: 2, Waiting: []promotion.Rollout{{
				Number: 5, Release: 2, Stage: "production", Phase: gitops.PhaseWaiting, Gates: []gitops.Gate{gate},
				PlanDigest: "00112233aabbccdd", Total: 2, Started: Began().Add(40 * time.Second),
			}}},
		},
		Rollouts: []promotion.Rollout{
			{Number: 3, Release: 2, Stage: "dev", Phase: gitops.PhaseHealthy, Healthy: 1, Total: 1, Started: Began(), Finished: Began().Add(20 * time.Second)},
			{Number: 4, Release: 2, Stage: "staging", Phase: gitops.PhaseHealthy, Healthy: 1, Total: 1, Started: Began().Add(20 * time.Second), Finished: Began().Add(40 * time.Second)},
		},
	}
	for _, r := range regions {
		t := promotion.TargetState{Name: "shop-" + r.region, Stage: r.stage, Region: r.region, Release: 2, Sync: gitops.Synced, Health: gitops.Healthy, Since: Began()}
		if r.stage == "production" {
			t.Release, t.Sync = 1, gitops.OutOfSync
		}
		state.Targets = append(state.Targets, t)
		state.Spec.Targets = append(state.Spec.Targets, gitops.Target{Name: t.Name, Project: "default", Region: r.region, Namespace: "shop"})
		for i := range state.Releases {
			state.Releases[i].Bundles = append(state.Releases[i].Bundles, gitops.Bundle{Target: t.Name, Digest: "bundle"})
		}
	}
	slices.SortFunc(state.Targets, func(a, b promotion.TargetState) int { return strings.Compare(a.Name, b.Name) })
	return state
}

func release(number int, commit string) gitops.Release {
	ref := gitops.Ref{Repository: "github.com/acme/shop", Revision: "main"}
	return gitops.Release{Number: number, Created: Began(), Sources: []gitops.ResolvedSource{{Ref: ref, Commit: commit}}}
}

// Waiting is rollout 5 of Shop.
func Waiting() workflows.RolloutStatus {
	r := workflows.RolloutStatus{
		Delivery: "default/shop", Stage: "production", Number: 5, Release: 2, Revision: NewCommit, Phase: gitops.PhaseWaiting,
		Message: "gate approval waits for an approval of plan 00112233aabbccdd", Started: Began().Add(40 * time.Second), PlanDigest: "00112233aabbccdd",
		Gates: []workflows.GateStatus{{
			Gate: gitops.Gate{Name: "approval", Kind: gitops.GateApproval}, State: workflows.GateStateWaiting, Message: "waits for an approval of plan 00112233aabbccdd",
		}},
	}
	for _, region := range []string{"eu-1", "us-1"} {
		r.Targets = append(r.Targets, workflows.TargetStatus{
			Name: "shop-" + region, Region: region, Phase: gitops.TargetPlanned, Steps: 2, Apply: 2,
			Changes: []string{"change apps/Deployment shop/frontend\n  .spec.template.spec.containers[name=server].image: \"frontend:1\" -> \"frontend:2\"", "change ConfigMap shop/settings\n  .data.color: \"red\" -> \"blue\""}, Unstable: []string{"charts/shop/templates/secret.yaml:7: randAlphaNum"},
		})
	}
	r.Targets[1].Changes, r.Targets[1].Apply, r.Targets[1].Prune = r.Targets[1].Changes[:1], 1, 1
	return r
}

// ShopWorld has Shop and the rollout of it that waits.
func ShopWorld() *World {
	w := New()
	w.Declare("default", "shop")
	w.SetDelivery(Shop())
	w.SetRollout(Waiting())
	w.Result = "gate approval of rollout 5 is open"
	return w
}
