package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/starter/api"
	"github.com/tidegate/tidegate/starter/api/apitest"
	"github.com/tidegate/tidegate/starter/client"
	"github.com/tidegate/tidegate/starter/flows"
	"github.com/tidegate/tidegate/workflows"
)

var shopRollout = client.RolloutID{Delivery: "default/shop", Stage: "production", Number: 5}

func serve(t *testing.T, w *apitest.World) client.Client { return client.Client{Server: w.Serve(t)} }

func TestDeliveriesAreThoseOfTheCatalogEachWithItsStatusOrTheReason(t *testing.T) {
	w := apitest.ShopWorld()
	w.Declare("default", "late", "broken")
	w.Set("delivery/default/broken", workflows.QueryStatus, fmt.Errorf("x: %w", flows.ErrUnavailable))
	list, err := serve(t, w).Deliveries(t.Context())
	require.NoError(t, err)
	require.Len(t, list.Deliveries, 3)
	require.Equal(t, "default/broken", list.Deliveries[0].Delivery)
	require.Contains(t, list.Deliveries[0].Error, "does not answer")
	require.Equal(t, api.Delivery{Delivery: "default/late", Error: "its workflow does not run yet"}, list.Deliveries[1])
	require.Equal(t, gitops.OutOfSync, list.Deliveries[2].Status.Sync)
	require.Equal(t, 5, list.Deliveries[2].Status.Stages[2].Waiting[0].Number)
}

func TestWithoutAnyAnswerTheAPIIsUnavailable(t *testing.T) {
	w := apitest.New()
	w.Declare("default", "shop")
	w.Set("delivery/default/shop", workflows.QueryStatus, fmt.Errorf("x: %w", flows.ErrUnavailable))
	c := serve(t, w)
	_, err := c.Deliveries(t.Context())
	require.True(t, client.Is(err, http.StatusServiceUnavailable), err)
	require.ErrorContains(t, err, "tidegate-worker")
	_, err = c.Delivery(t.Context(), "default/shop")
	require.True(t, client.Is(err, http.StatusServiceUnavailable), err)
}

func TestTargetsAreSelectedAndInOrderOfStages(t *testing.T) {
	c := serve(t, apitest.ShopWorld())
	for want, filter := range map[string]client.TargetFilter{
		"shop-dev-1 shop-staging-1 shop-eu-1 shop-us-1": {},
		"shop-eu-1 shop-us-1":                           {Stage: "production", Delivery: "shop"},
		"shop-us-1":                                     {Region: "us-1", Delivery: "default/shop"},
		"":                                              {Region: "nowhere"},
	} {
		list, err := c.Targets(t.Context(), filter)
		require.NoError(t, err)
		var names []string
		for _, target := range list.Targets {
			names = append(names, target.Name)
		}
		require.Equal(t, want, strings.Join(names, " "))
	}
	_, err := c.Targets(t.Context(), client.TargetFilter{Delivery: "shp"})
	require.True(t, client.Is(err, http.StatusNotFound), err)
	require.ErrorContains(t, err, "tidegate get deliveries")
}

func TestRolloutsAreListedNewestFirstWithTheCommitsOfTheirRelease(t *testing.T) {
	list, err := serve(t, apitest.ShopWorld()).Rollouts(t.Context(), "default/shop")
	require.NoError(t, err)
	require.Len(t, list.Rollouts, 3)
	require.Equal(t, "default/shop/production/5", list.Rollouts[0].ID)
	require.Nil(t, list.Rollouts[0].Finished)
	require.Equal(t, []string{apitest.NewCommit}, list.Rollouts[0].Commits)
	require.Equal(t, gitops.PhaseHealthy, list.Rollouts[2].Phase)
	require.NotNil(t, list.Rollouts[2].Finished)
}

func TestARolloutSaysWhatItsTargetsWaitFor(t *testing.T) {
	w := apitest.ShopWorld()
	r := apitest.Waiting()
	r.Phase = gitops.PhaseProgressing
	r.Targets[0].Phase, r.Targets[1].Phase = gitops.TargetWaiting, gitops.TargetApplying
	w.SetRollout(r)
	w.Said = map[string]string{workflows.WaitQueue("eu-1"): "apps/Deployment shop/frontend: 1 of 2 ready"}
	status, err := serve(t, w).Rollout(t.Context(), client.RolloutID{Delivery: "default/shop", Stage: "production", Number: 5})
	require.NoError(t, err)
	require.Equal(t, "apps/Deployment shop/frontend: 1 of 2 ready", status.Targets[0].Message)
	require.Empty(t, status.Targets[1].Message)
}

func TestARolloutThatTemporalHasForgottenIsReadFromItsRecord(t *testing.T) {
	w := apitest.ShopWorld()
	w.SetRecord(workflows.RolloutStatus{Delivery: "default/shop", Stage: "dev", Number: 1, Phase: gitops.PhaseFailed})
	c := serve(t, w)
	status, err := c.Rollout(t.Context(), client.RolloutID{Delivery: "default/shop", Stage: "dev", Number: 1})
	require.NoError(t, err)
	require.Equal(t, gitops.PhaseFailed, status.Phase)
	_, err = c.Rollout(t.Context(), client.RolloutID{Delivery: "default/shop", Stage: "dev", Number: 2})
	require.True(t, client.Is(err, http.StatusNotFound), err)
	require.ErrorContains(t, err, "tidegate rollout list default/shop")
}

func TestADecisionIsAnUpdateOfTheRollout(t *testing.T) {
	w := apitest.ShopWorld()
	c := serve(t, w)
	decision := api.Decision{Gate: "approval", PlanDigest: "00112233aabbccdd", By: "anna", Reason: "fine"}
	outcome, err := c.Approve(t.Context(), shopRollout, decision)
	require.NoError(t, err)
	require.Equal(t, "gate approval of rollout 5 is open", outcome.Message)
	_, err = c.Reject(t.Context(), shopRollout, decision)
	require.NoError(t, err)
	require.Len(t, w.Orders, 2)
	require.Equal(t, "rollout/default/shop/production/5", w.Orders[0].Workflow)
	require.Equal(t, workflows.UpdateApprove, w.Orders[0].Name)
	require.Equal(t, workflows.Decision{Gate: "approval", PlanDigest: "00112233aabbccdd", By: "anna", Reason: "fine"}, w.Orders[0].Arg)
	require.Equal(t, workflows.UpdateReject, w.Orders[1].Name)
	require.NotEmpty(t, w.Orders[0].Key)
	require.NotEqual(t, w.Orders[0].Key, w.Orders[1].Key)
}

func TestARefusedDecisionIsAConflictWithItsReason(t *testing.T) {
	w := apitest.ShopWorld()
	w.Refuse = flows.Refused{Reason: "the plan is another one"}
	_, err := serve(t, w).Approve(t.Context(), shopRollout, api.Decision{Gate: "approval", PlanDigest: "x", By: "anna"})
	require.True(t, client.Is(err, http.StatusConflict), err)
	require.EqualError(t, err, "the plan is another one")
}

func TestADecisionForARolloutThatHasEndedOrNeverWas(t *testing.T) {
	w := apitest.ShopWorld()
	w.Refuse = fmt.Errorf("x: %w", flows.ErrUnknown)
	ended := apitest.Waiting()
	ended.Phase = gitops.PhaseSuperseded
	w.SetRollout(ended)
	c := serve(t, w)
	decision := api.Decision{Gate: "approval", PlanDigest: "x", By: "anna"}
	_, err := c.Approve(t.Context(), shopRollout, decision)
	require.True(t, client.Is(err, http.StatusConflict), err)
	require.EqualError(t, err, "rollout default/shop/production/5 has ended (Superseded)")
	_, err = c.Approve(t.Context(), client.RolloutID{Delivery: "default/shop", Stage: "production", Number: 99}, decision)
	require.True(t, client.Is(err, http.StatusNotFound), err)
}

func TestADecisionMustSayWhatAboutWhatAndByWhom(t *testing.T) {
	w := apitest.ShopWorld()
	c := serve(t, w)
	for missing, d := range map[string]api.Decision{
		"gate": {PlanDigest: "x", By: "anna"}, "planDigest": {Gate: "approval", By: "anna"}, "by": {Gate: "approval", PlanDigest: "x"},
	} {
		_, err := c.Approve(t.Context(), shopRollout, d)
		require.True(t, client.Is(err, http.StatusUnprocessableEntity), err)
		require.ErrorContains(t, err, missing)
	}
	require.Empty(t, w.Orders)
}

func TestASyncIsAnUpdateOfTheDelivery(t *testing.T) {
	w := apitest.ShopWorld()
	w.Result = "rollout 6 has started"
	outcome, err := serve(t, w).Sync(t.Context(), "default/shop", api.Sync{By: "anna"})
	require.NoError(t, err)
	require.Equal(t, "rollout 6 has started", outcome.Message)
	require.Equal(t, "delivery/default/shop", w.Orders[0].Workflow)
	require.Equal(t, workflows.SyncRequest{By: "anna"}, w.Orders[0].Arg)
}

func TestTheCatalogSaysWhatItRefusesAndIsReadAgainOnDemand(t *testing.T) {
	w := apitest.New()
	problem := gitops.Problem{File: "a.yaml", Line: 3, Message: "no such region"}
	w.Set(workflows.CatalogID, workflows.QueryStatus, workflows.CatalogStatus{Digest: "d", Problems: []gitops.Problem{problem}})
	c := serve(t, w)
	status, err := c.Catalog(t.Context())
	require.NoError(t, err)
	require.Equal(t, []gitops.Problem{problem}, status.Problems)
	_, err = c.RefreshCatalog(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"catalog refresh"}, w.Signals)
}

func TestWebPagesAreKeptOut(t *testing.T) {
	approve := api.Prefix + "/rollouts/default/shop/production/5/approve"
	body := `{"gate":"approval","planDigest":"00112233aabbccdd","by":"a page"}`
	for name, c := range map[string]struct {
		method, path, host string
		header             map[string]string
		status             int
	}{
		"a rebound name":           {http.MethodGet, api.Prefix + "/deliveries", "evil.example", nil, http.StatusForbidden},
		"a rebound name that ends": {http.MethodGet, api.Prefix + "/deliveries", "127.0.0.1.evil.example:80", nil, http.StatusForbidden},
		"another origin":           {http.MethodPost, approve, "", map[string]string{"Origin": "https://evil.example"}, http.StatusForbidden},
		"another site":             {http.MethodPost, approve, "", map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		"another port":             {http.MethodPost, approve, "", map[string]string{"Origin": "http://127.0.0.1:1"}, http.StatusForbidden},
		"a form":                   {http.MethodPost, approve, "", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, http.StatusUnsupportedMediaType},
		"plain text":               {http.MethodPost, approve, "", map[string]string{"Content-Type": "text/plain"}, http.StatusUnsupportedMediaType},
		"no type":                  {http.MethodPost, approve, "", map[string]string{"Content-Type": ""}, http.StatusUnsupportedMediaType},
		"localhost":                {http.MethodPost, approve, "localhost:8081", nil, http.StatusOK},
		"IPv6":                     {http.MethodPost, approve, "[::1]:8081", nil, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			w := apitest.ShopWorld()
			r, err := http.NewRequestWithContext(t.Context(), c.method, w.Serve(t)+c.path, strings.NewReader(body))
			require.NoError(t, err)
			r.Header.Set("Content-Type", "application/json")
			for key, value := range c.header {
				r.Header.Set(key, value)
			}
			r.Host = c.host
			response, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			defer response.Body.Close()
			require.Equal(t, c.status, response.StatusCode)
			require.Equal(t, c.status == http.StatusOK, len(w.Orders) == 1)
		})
	}
}

func TestTheDescriptionNamesEveryOperation(t *testing.T) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, apitest.New().Serve(t)+api.Prefix+"/openapi.json", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	var description struct {
		Paths map[string]map[string]struct{ OperationID string } `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(raw, &description))
	var ids []string
	for _, methods := range description.Paths {
		for _, operation := range methods {
			ids = append(ids, operation.OperationID)
		}
	}
	require.ElementsMatch(t, []string{
		"list-deliveries", "get-delivery", "list-targets", "list-rollouts", "get-rollout", "get-catalog", "approve", "reject", "abort", "rollback", "abandon", "preview", "sync", "refresh-catalog",
	}, ids)
}
