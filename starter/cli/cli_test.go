package cli_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/config"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/starter/api/apitest"
	"github.com/tidegate/tidegate/starter/cli"
	"github.com/tidegate/tidegate/starter/flows"
	"github.com/tidegate/tidegate/workflows"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file of testdata, none of whose lines may be wider
// than a terminal unless it is JSON.
func golden(t *testing.T, name, got string) {
	file := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o750))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
	if strings.HasPrefix(got, "{") || strings.HasPrefix(got, "[") {
		return
	}
	for line := range strings.Lines(got) {
		require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), 80, line)
	}
}

// shell is a place to run the command in.
type shell struct {
	server   string
	in       string
	terminal bool
	out, err bytes.Buffer
}

func (s *shell) run(t *testing.T, args ...string) error {
	s.out.Reset()
	s.err.Reset()
	around := cli.Surroundings{In: strings.NewReader(s.in), Out: &s.out, Err: &s.err, User: "anna", Version: "v1.2.3"}
	if s.terminal {
		around.Asks = true
		around.Size = func() (int, int) { return 80, 24 }
	}
	c := cli.Command(around, func(context.Context, config.Settings) error { return nil })
	if s.server != "" {
		args = append([]string{"--server", s.server}, args...)
	}
	c.SetArgs(args)
	return c.ExecuteContext(t.Context())
}

// world has Shop with some trouble, and a Delivery that has none.
func world() *apitest.World {
	w := apitest.ShopWorld()
	state := apitest.Shop()
	state.Targets[3].Health, state.Targets[3].Unreachable = gitops.HealthUnknown, true
	state.Targets[3].Message = "the region has not answered since 09:00:12: dial tcp 10.0.0.7:6443: connect: connection refused"
	state.Conditions = []promotion.Condition{{Kind: promotion.RefMissing, Subject: "github.com/acme/shop@main", Message: "no branch, tag or ref has this name; the nearest is master", Since: apitest.Began()}}
	w.SetDelivery(state)
	w.Declare("platform", "a-delivery-with-quite-a-long-name-that-has-no-release")
	w.SetDelivery(promotion.State{Spec: gitops.Delivery{Project: "platform", Name: "a-delivery-with-quite-a-long-name-that-has-no-release"}})
	w.Declare("platform", "late")
	w.Set(workflows.CatalogID, workflows.QueryStatus, workflows.CatalogStatus{Digest: "d", Deliveries: map[string]string{"default/shop": "x"}, Problems: []gitops.Problem{
		{File: "apps/shop.yaml", Line: 12, Object: "Application/shop", Field: "spec.source.chart", Message: "Helm charts are not supported yet; render the chart into the repository, or wait for the release that brings them"},
		{File: "apps/b.yaml", Message: "the file is empty"},
	}})
	return w
}

func TestWhatTheVerbsPrint(t *testing.T) {
	s := shell{server: world().Serve(t), terminal: true}
	for name, args := range map[string]string{
		"deliveries":        "get deliveries",
		"deliveries-json":   "get deliveries -o json",
		"delivery":          "get deliveries shop",
		"delivery-json":     "get deliveries default/shop -o json",
		"targets":           "get targets",
		"targets-of-region": "get targets --region eu-1 shop",
		"targets-json":      "get targets --region eu-1 -o json",
		"problems":          "get problems",
		"problems-json":     "get problems -o json",
		"rollouts":          "rollout list",
		"rollouts-json":     "rollout list shop -o json",
		"rollout":           "rollout get shop/production/5",
		"rollout-json":      "rollout get rollout/default/shop/production/5 -o json",
		"version":           "version",
		"help":              "--help",
		"help-approve":      "approve --help",
		"help-watch":        "rollout watch --help",
		"help-abort":        "rollout abort --help",
		"help-sync":         "sync --help",
		"help-abandon":      "abandon --help",
		"sync-dry-run":      "sync shop --dry-run",
		"sync-dry-run-json": "sync shop --dry-run --resource :ConfigMap:* -o json",
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, s.run(t, strings.Fields(args)...))
			golden(t, name, s.out.String())
		})
	}
}

func TestAnApprovalNamesThePlanThatWasShown(t *testing.T) {
	w := world()
	s := shell{server: w.Serve(t), terminal: true, in: "y\n"}
	require.NoError(t, s.run(t, "approve", "shop", "--reason", "looks right"))
	golden(t, "approve", s.out.String())
	require.Equal(t, "Approve rollout default/shop/production/5 at gate approval? [y/N] ", s.err.String())
	require.Equal(t, workflows.Decision{Gate: "approval", PlanDigest: "00112233aabbccdd", By: "anna", Reason: "looks right"}, w.Orders[0].Arg)
	require.Equal(t, "rollout/default/shop/production/5", w.Orders[0].Workflow)
}

func TestARolloutIsAbortedByName(t *testing.T) {
	w := world()
	s := shell{server: w.Serve(t)}
	require.NoError(t, s.run(t, "rollout", "abort", "shop/production/5", "--reason", "wrong database"))
	require.Equal(t, workflows.UpdateAbort, w.Orders[0].Name)
	require.Equal(t, workflows.Abort{By: "anna", Reason: "wrong database"}, w.Orders[0].Arg)
	require.ErrorContains(t, s.run(t, "rollout", "abort", "shop"), "`tidegate rollout list shop` lists its rollouts")
}

func TestNothingIsDecidedWithoutAYes(t *testing.T) {
	for _, in := range []string{"\n", "n\n", "", "yes" /* no end of line: the terminal is gone */} {
		w := world()
		s := shell{server: w.Serve(t), terminal: true, in: in}
		require.EqualError(t, s.run(t, "approve", "shop"), "nothing was decided", "%q", in)
		require.Empty(t, w.Orders)
	}
}

func TestWithoutATerminalAYesOrThePlanIsNeeded(t *testing.T) {
	w := world()
	s := shell{server: w.Serve(t)}
	require.ErrorContains(t, s.run(t, "approve", "shop"), "then give --plan 00112233aabbccdd, or --yes")
	require.Empty(t, w.Orders)
	require.NoError(t, s.run(t, "approve", "shop", "--yes", "--by", "ci"))
	require.NoError(t, s.run(t, "reject", "default/shop/production/5", "--plan", "an-older-plan", "-o", "json"))
	require.Equal(t, "{\n  \"message\": \"gate approval of rollout 5 is open\"\n}\n", s.out.String())
	require.Equal(t, workflows.Decision{Gate: "approval", PlanDigest: "00112233aabbccdd", By: "ci"}, w.Orders[0].Arg)
	require.Equal(t, workflows.Decision{Gate: "approval", PlanDigest: "an-older-plan", By: "anna"}, w.Orders[1].Arg)
	require.Equal(t, workflows.UpdateReject, w.Orders[1].Name)
}

func TestARefusalIsPassedOn(t *testing.T) {
	w := world()
	w.Refuse = flows.Refused{Reason: "the plan is another one: look at it and decide again"}
	s := shell{server: w.Serve(t)}
	err := s.run(t, "approve", "shop", "--plan", "x")
	require.EqualError(t, err, "refused: the plan is another one: look at it and decide again")
	require.Equal(t, 1, cli.ExitCode(err))
}

func TestARolloutIsChosenOnlyWhenItIsClearWhichOne(t *testing.T) {
	w := world()
	s := shell{server: w.Serve(t)}
	answered := apitest.Waiting()
	answered.Gates[0].State = workflows.GateStateOpen
	w.SetRollout(answered)
	require.ErrorContains(t, s.run(t, "approve", "shop", "--yes"), "nothing of default/shop waits at a gate")
	require.ErrorContains(t, s.run(t, "approve", "shop/production/5", "--yes"), "waits at no gate: it is Waiting")

	two := apitest.Waiting()
	two.Gates = append(two.Gates, workflows.GateStatus{Gate: gitops.Gate{Name: "prune", Kind: gitops.GatePrune}, State: workflows.GateStateWaiting})
	w.SetRollout(two)
	require.ErrorContains(t, s.run(t, "approve", "shop", "--yes"), "say --gate with one of approval, prune")
	require.NoError(t, s.run(t, "approve", "shop", "--yes", "--gate", "prune"))

	planning := apitest.Waiting()
	planning.Phase = gitops.PhasePlanning
	w.SetRollout(planning)
	require.ErrorContains(t, s.run(t, "approve", "shop", "--yes"), "is still being planned")
}

func TestNamesAreResolvedOrExplained(t *testing.T) {
	w := world()
	w.Declare("default", "late")
	s := shell{server: w.Serve(t)}
	for text, want := range map[string]string{
		"late":               "late is in several projects: say which of default/late, platform/late",
		"shp":                "there is no Delivery shp; there are ",
		"shop/production/x":  "its number is missing, as in shop/production/7",
		"shop/production/0":  "its number is missing",
		"a/b/c/d/5":          "is no name",
		"default//shop":      "is no name",
		"nope/shop":          "there is no Delivery nope/shop",
		"shop/production/99": "there is no rollout default/shop/production/99; `tidegate rollout list default/shop` lists them",
	} {
		require.ErrorContains(t, s.run(t, "approve", text, "--yes"), want, text)
	}
	require.ErrorContains(t, s.run(t, "rollout", "get", "shop"), "shop is a Delivery: `tidegate rollout list shop` lists its rollouts")
}

func TestSyncAsksTheDelivery(t *testing.T) {
	w := world()
	w.Result = "rollout 6 of release 2 into dev has started"
	s := shell{server: w.Serve(t)}
	require.NoError(t, s.run(t, "sync", "delivery/default/shop"))
	require.Equal(t, w.Result+"\n", s.out.String())
	require.Equal(t, workflows.SyncRequest{By: "anna"}, w.Orders[0].Arg)
}

func TestASyncOfSomeObjectsSaysWhich(t *testing.T) {
	w := world()
	s := shell{server: w.Serve(t)}
	require.NoError(t, s.run(t, "sync", "shop", "--resource", "apps:Deployment:web", "--resource", "!:Service:*", "--prune", "--target", "eu-1-shop"))
	scope := &gitops.SyncScope{Resources: []string{"apps:Deployment:web", "!:Service:*"}, Prune: true}
	require.Equal(t, workflows.SyncRequest{By: "anna", Scope: scope, Targets: []string{"eu-1-shop"}}, w.Orders[0].Arg)
	require.ErrorContains(t, s.run(t, "sync", "shop", "--resource", "web"), `"web" selects no object: write GROUP:KIND:NAME`)
	require.ErrorContains(t, s.run(t, "sync", "shop", "--target", "eu-1-shop"), "--target goes with")
	require.ErrorContains(t, s.run(t, "sync", "shop", "--dry-run", "--target", "nope"), "has no target nope; `tidegate get targets default/shop` lists them")
	require.Len(t, w.Orders, 1)
	require.Empty(t, w.Previews)
}

func TestAbandonAsksTheDelivery(t *testing.T) {
	w := world()
	w.Result = "1 targets are no longer to be deleted"
	s := shell{server: w.Serve(t)}
	require.NoError(t, s.run(t, "abandon", "shop", "--target", "eu-1-shop"))
	require.Equal(t, workflows.AbandonRequest{By: "anna", Targets: []string{"eu-1-shop"}}, w.Orders[0].Arg)
	w.Refuse = flows.Refused{Reason: "no such target of default/shop is to be deleted"}
	require.ErrorContains(t, s.run(t, "abandon", "shop"), "refused: no such target of default/shop is to be deleted")
}

func TestTheExitCodeTellsHowAWatchedRolloutEnded(t *testing.T) {
	for phase, want := range map[gitops.Phase]int{gitops.PhaseHealthy: 0, gitops.PhaseFailed: 2, gitops.PhaseSuperseded: 3, gitops.PhaseRejected: 3} {
		w := world()
		r := apitest.Waiting()
		r.Phase = phase
		w.SetRollout(r)
		s := shell{server: w.Serve(t)}
		require.Equal(t, want, cli.ExitCode(s.run(t, "rollout", "watch", "shop/production/5")), phase)
	}
	s := shell{server: world().Serve(t)}
	require.NoError(t, s.run(t, "rollout", "watch", "shop/production/5", "--until-gate"))
	require.Contains(t, s.out.String(), "default/shop/production/5 waits at a gate\n")
	err := s.run(t, "rollout", "watch", "shop/production/5", "--timeout", "50ms")
	require.EqualError(t, err, "shop/production/5 had not ended after 50ms")
	require.Equal(t, 1, cli.ExitCode(err))
	require.Equal(t, 130, cli.ExitCode(fmt.Errorf("x: %w", context.Canceled)))
}

func TestTheServerIsThatOfTheFlagTheSettingsOrTheDefault(t *testing.T) {
	t.Chdir(t.TempDir())
	var s shell
	require.ErrorContains(t, s.run(t, "get", "deliveries", "--server", "http://127.0.0.1:1"), "nothing listens on http://127.0.0.1:1: start it with `tidegate serve`, or `make up`")
	require.NoError(t, os.WriteFile("tidegate.yaml", []byte("api: {listen: '127.0.0.1:2'}\n"), 0o600))
	require.ErrorContains(t, s.run(t, "get", "deliveries"), "nothing listens on http://127.0.0.1:2:")
	require.NoError(t, os.WriteFile("tidegate.yaml", []byte("api: {lisen: '127.0.0.1:2'}\n"), 0o600))
	require.ErrorContains(t, s.run(t, "get", "deliveries"), "unknown setting api.lisen", "settings that are there must be right")
	require.ErrorContains(t, s.run(t, "get", "deliveries", "--config", "other.yaml"), "other.yaml")
	require.NoError(t, os.Remove("tidegate.yaml"))
	if err := s.run(t, "get", "deliveries"); err != nil { // unless somebody serves there
		require.NotContains(t, err.Error(), "no settings file")
		require.ErrorContains(t, err, "http://127.0.0.1:8081")
	}
}

func TestAMistypedOutputIsRefused(t *testing.T) {
	var s shell
	require.ErrorContains(t, s.run(t, "version", "-o", "yaml"), "use table or json")
}

func TestACatalogIsValidatedWithoutAServer(t *testing.T) {
	folder := t.TempDir()
	settings := filepath.Join(folder, "tidegate.yaml")
	require.NoError(t, os.WriteFile(settings, []byte("regions: [{name: eu-1, kubeconfig: k}]\n"), 0o600))
	write := func(region string) {
		text := "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop}\nspec:\n  project: default\n" +
			"  source: {repoURL: 'git@github.com:acme/shop.git', path: app}\n  destination: {name: " + region + ", namespace: shop}\n"
		require.NoError(t, os.MkdirAll(filepath.Join(folder, "catalog"), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "catalog", "shop.yaml"), []byte(text), 0o600))
	}
	var s shell
	write("eu-1")
	require.NoError(t, s.run(t, "validate", filepath.Join(folder, "catalog"), "--config", settings))
	require.Equal(t, "1 Delivery with 1 target in 1 region\n", s.out.String())
	write("nowhere")
	err := s.run(t, "validate", filepath.Join(folder, "catalog"), "--config", settings)
	require.ErrorContains(t, err, "catalog has 1 problem")
	require.Equal(t, 1, cli.ExitCode(err))
	require.Contains(t, s.out.String(), "shop.yaml:7: Application/shop spec.destination.name\n    no region is called nowhere")
	require.ErrorContains(t, s.run(t, "validate", filepath.Join(folder, "none"), "--config", settings), "read the catalog in")
}
