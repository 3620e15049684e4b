package e2e_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/promotion"
	wire "github.com/tidegate/tidegate/starter/api"
	"github.com/tidegate/tidegate/starter/hook"
	"github.com/tidegate/tidegate/workflows"
)

func TestAChangeIsExactlyThatChangeInTenRegions(t *testing.T) {
	w := newWorld(t, options{})
	app := web("example.com/web:1")
	app["app/backend.yaml"] = workload{name: "backend", image: "example.com/backend:1"}.String()
	app["app/settings.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {color: blue}\n"
	w.untilDelivered(w.push(app))
	first := w.state()

	w.step("an image that changes is one patch a region, besides the inventory", func(t *testing.T) {
		before := w.now()
		commit := w.push(web("example.com/web:2"))
		w.untilDelivered(commit)
		for _, region := range w.targets() {
			require.Equal(t, "example.com/web:2", w.image(region, "web"))
			writes := w.writes(region, before)
			require.Equal(t, []string{"patch deployments " + w.name + "/web"}, withoutInventory(writes), "region %s", region)
			require.LessOrEqual(t, len(writes), 3, "region %s: the inventory is written before and after at most: %v", region, writes)
		}
	})
	settled := w.state()
	require.Greater(t, settled.NextRelease, first.NextRelease)

	w.step("a push outside of the path renders nothing and writes nothing", func(t *testing.T) {
		before := w.now()
		w.pushIgnored(files{"README.md": "not delivered\n"})
		require.Equal(t, settled.Render.Number, w.state().Render.Number)
		w.requireNoWrites(before)
	})

	w.step("a change that renders to the same is noted, and writes nothing", func(t *testing.T) {
		before := w.now()
		commit := w.push(files{"app/web.yaml": "# a comment\n" + web("example.com/web:2")["app/web.yaml"]})
		w.untilState("the commit is noted on the release", func(s promotion.State) bool {
			return s.Status().Newest.Revision == commit && !s.Status().Rendering
		})
		state := w.state()
		require.Equal(t, settled.NextRelease, state.NextRelease, "no release")
		require.Equal(t, settled.NextRollout, state.NextRollout, "no rollout")
		w.requireNoWrites(before)
	})

	w.step("a sync of what is there writes nothing", func(t *testing.T) {
		before := w.now()
		_, err := w.api.Sync(t.Context(), w.delivery(), wire.Sync{By: "a test"})
		require.NoError(t, err)
		w.untilState("the sync has ended", func(s promotion.State) bool { return len(s.OpenRollouts()) == 0 })
		w.requireNoWrites(before)
	})
}

// pushIgnored pushes what concerns no Delivery, and returns when that has been
// found out.
func (w *world) pushIgnored(f files) {
	w.t.Helper()
	commit := w.pushSilently(f)
	result := w.pushResult(w.announce(commit))
	require.Equal(w.t, commit, result.Commit)
	require.Empty(w.t, result.Deliveries)
}

// pushResult waits for the Push workflow that a webhook has started or joined.
func (w *world) pushResult(answer hook.Answer) workflows.PushResult {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	var result workflows.PushResult
	require.NoError(w.t, w.temporal.GetWorkflow(ctx, answer.WorkflowID, "").Get(ctx, &result))
	return result
}

// withoutInventory leaves out the writes to Tidegate's own namespace.
func withoutInventory(writes []string) []string {
	return slices.DeleteFunc(slices.Clone(writes), isInventory)
}
