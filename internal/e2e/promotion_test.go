package e2e_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/workflows"
)

// rings are a stage for development, and one whose first region is a canary; it takes
// two persons, soaks, and goes back by itself.
func rings(w *world) string {
	return strings.Replace(pipelineCatalog(w), "        - approval: {}\n",
		"        - approval: {count: 2}\n      batches: [1]\n      orderBy: tidegate.dev/region\n      soak: 2s\n      onFailure: rollback\n", 1)
}

func TestABadImageFailsInTheCanaryAndIsRolledBackThere(t *testing.T) {
	w := newWorld(t, options{catalog: rings, stages: []stage{{name: "production", regions: theFleet(t).regionNames(), approval: true}}})
	approve := func(by string) (string, error) { return w.tidegate("approve", w.delivery(), "--yes", "--by", by) }
	letIn := func(t *testing.T, commit string) workflows.RolloutStatus {
		waiting := w.untilCandidate(commit)
		out, err := approve("ann")
		require.NoError(t, err, out)
		out, err = approve("ann")
		require.Error(t, err)
		require.Contains(t, out, "ann has approved it before")
		out, err = approve("bob")
		require.NoError(t, err, out)
		return waiting
	}
	regions := w.targets()
	slices.Sort(regions)
	canary, others := regions[0], regions[1:]
	good := w.push(web("example.com/web:1"))

	w.step("a good release soaks in the canary, then goes on", func(t *testing.T) {
		before := w.now()
		waiting := letIn(t, good)
		w.untilRunning("production", good, "soaks in the canary", func(r workflows.RolloutStatus) bool {
			return r.Batch == 1 && slices.ContainsFunc(r.Targets, func(t workflows.TargetStatus) bool {
				return t.Region == canary && t.Phase == gitops.TargetSoaking
			})
		})
		for _, region := range others {
			require.Empty(t, w.writes(region, before))
		}
		w.untilDelivered(good)
		require.Equal(t, gitops.PhaseHealthy, w.untilEnded(waiting.Number).Phase)
	})

	w.step("a bad one is taken back there, the nine others are left as they were", func(t *testing.T) {
		before := w.now()
		broken := workload{name: "web", image: "example.com/web:2", fail: "cannot start"}.String()
		bad := w.push(files{"app/web.yaml": strings.Replace(broken, "replicas: 1", "replicas: 1\n  progressDeadlineSeconds: 2", 1)})
		waiting := letIn(t, bad)
		require.Equal(t, gitops.PhaseFailed, w.untilEnded(waiting.Number).Phase)
		w.untilState("the stage has gone back", func(s promotion.State) bool {
			st := s.Stages[0]
			return st.Running == nil && st.LastStarted == 1 && st.Failed == 0 && s.Status().Health == gitops.Healthy
		})
		require.Equal(t, "example.com/web:1", w.image(canary, "web"))
		for _, region := range others {
			require.Empty(t, withoutInventory(w.writes(region, before)), region)
		}
		out, err := w.tidegate("get", w.delivery())
		require.NoError(t, err, out)
		require.Contains(t, out, "release 2 was rolled back by the strategy of stage production")
	})

	w.step("the same by another commit stays out; the next one goes on, and back by hand while Git is down", func(t *testing.T) {
		w.push(files{"app/web.yaml": web("example.com/web:3")["app/web.yaml"]})
		next := w.repo.Head()
		letIn(t, next)
		w.untilDelivered(next)
		w.git.Intercept(func(answer http.ResponseWriter, _ *http.Request) bool {
			answer.WriteHeader(http.StatusServiceUnavailable)
			return true
		})
		out, err := w.tidegate("rollback", w.delivery(), "--by", "ann", "--reason", "it is slow")
		require.NoError(t, err, out)
		w.untilState("it has gone back", func(s promotion.State) bool {
			st := s.Stages[0]
			return st.Running == nil && st.Current == 1 && s.Status().Sync == gitops.Synced && s.Status().Health == gitops.Healthy
		})
		for _, region := range regions {
			require.Equal(t, "example.com/web:1", w.image(region, "web"))
		}
	})
}
