package promotion_test

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// calmDown lets the world become quiet: regions answer, renders succeed,
// rollouts run to their end, somebody approves the newest candidate of every
// gate. It ends with a good push, or with syncs alone; either way the newest
// release must be everywhere then, and nothing may be left open.
func (w *world) calmDown(push bool) {
	clear(w.down)
	w.settle()
	if push || slices.Contains(w.contents, badContent) || len(w.state.Quarantined) > 0 {
		w.push(0, w.pushes+10)
	}
	if w.contents[1] == 0 {
		w.push(1, w.pushes+10)
	}
	w.settle()
	for range len(w.state.Spec.Stages) + 1 {
		if !w.delivered() {
			w.reopenLost()
			w.tell(promotion.Event{Kind: promotion.SyncRequested, By: "ada"})
			w.settle()
		}
	}
	w.mustBeDelivered()
}

// settle goes on until nothing moves any more.
func (w *world) settle() {
	for round := 0; w.moves(); round++ {
		require.Less(w.t, round, 2000, "the world does not come to rest")
	}
}

func (w *world) moves() bool {
	moved := false
	for len(w.inbox) > 0 {
		w.deliver(0, false)
		moved = true
	}
	if w.render != nil {
		w.finishRender(true)
		moved = true
	}
	for _, region := range slices.Clone(w.state.Probing) {
		w.recover(region)
		moved = true
	}
	for _, a := range w.live(func(*actor) bool { return true }) {
		moved = a.step(calm) || moved
	}
	before := len(w.state.OpenRollouts())
	if len(w.inbox) == 0 {
		w.watch()
	}
	return moved || before != len(w.state.OpenRollouts()) || w.approveNewest()
}

// approveNewest approves the newest candidate of every stage that nobody has
// decided about.
func (w *world) approveNewest() bool {
	approved := false
	for _, st := range append(slices.Clone(w.state.Stages), promotion.StageState{Name: gitops.DeletionStage}) {
		var newest *actor
		for _, a := range w.live(func(a *actor) bool { return a.Stage == st.Name && !a.granted && a.stop == "" }) {
			if newest == nil || a.Release > newest.Release || a.Delete {
				newest = a
			}
		}
		if newest != nil && newest.approved == "" {
			approved = newest.approve(newest.digest) || approved
		}
	}
	return approved
}

// reopenLost asks for candidates again that somebody rejected.
func (w *world) reopenLost() {
	for _, st := range w.state.Stages {
		if st.Current < st.Offered {
			w.tell(promotion.Event{Kind: promotion.ReopenRequested, Stage: st.Name, Release: st.Offered, By: "ada"})
		}
	}
}

func (w *world) delivered() bool {
	for _, st := range w.state.Stages {
		if st.Current != w.state.Newest() || st.Failed != 0 {
			return false
		}
	}
	return w.state.Render.Error == "" && len(w.state.Leaving) == 0
}

func (w *world) mustBeDelivered() {
	t := w.t
	newest, ok := w.state.Release(w.state.Newest())
	require.True(t, ok, "no release was ever made")
	require.Empty(t, w.state.OpenRollouts(), "a rollout is left open")
	require.Empty(t, w.live(func(*actor) bool { return true }), "a rollout still works")
	for i, bundle := range w.shape.bundles(w.heads()) {
		require.Equal(t, bundle.Digest, newest.Bundles[i].Digest, "the newest release is not what the heads render to")
	}
	require.Len(t, w.state.Stages, len(w.state.Spec.Stages), "a retired stage has left something behind")
	for i, st := range w.state.Stages {
		require.Equal(t, w.state.Spec.Stages[i].Name, st.Name)
		require.Equal(t, newest.Number, st.Current, "stage %s did not get the newest release", st.Name)
		require.Nil(t, st.Running)
		require.Zero(t, st.Failed)
	}
	require.Len(t, w.state.Targets, len(w.state.Spec.Targets))
	for _, target := range w.state.Targets {
		require.Equal(t, gitops.Synced, target.Sync, "target %s", target.Name)
		require.Equal(t, gitops.Healthy, target.Health, "target %s", target.Name)
	}
	require.Empty(t, w.state.Probing)
	require.Empty(t, w.state.Leaving, "a target that is no longer declared was not deleted")
}

func (w *world) heads() []gitops.ResolvedSource {
	var heads []gitops.ResolvedSource
	for _, h := range w.state.Heads {
		heads = append(heads, gitops.ResolvedSource{Ref: h.Ref, Commit: h.Commit})
	}
	return heads
}
