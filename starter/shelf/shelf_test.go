package shelf_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/artifact"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/starter/shelf"
	"github.com/tidegate/tidegate/workflows"
)

// counting counts the looks at a store.
type counting struct {
	*artifact.Store
	looks atomic.Int64
}

func (c *counting) GetNamed(ctx context.Context, name string) ([]byte, error) {
	c.looks.Add(1)
	return c.Store.GetNamed(ctx, name)
}

func open(t *testing.T) *counting {
	store, err := artifact.Open(t.Context(), artifact.Options{URL: "mem://", Key: make([]byte, 32)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return &counting{Store: store}
}

func declare(t *testing.T, store *counting, name string) {
	raw, err := json.Marshal(gitops.Catalog{Deliveries: []gitops.Delivery{{Project: "default", Name: name}}})
	require.NoError(t, err)
	require.NoError(t, store.SetNamed(t.Context(), activities.CatalogName, raw))
}

func TestTheCatalogIsWhatTheActivityKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		s := shelf.New(store)
		cat, err := s.Catalog(t.Context())
		require.NoError(t, err)
		require.Empty(t, cat.Deliveries, "none was loaded yet")
		declare(t, store, "shop")
		<-time.After(250 * time.Millisecond) // of the bubble's clock
		cat, err = s.Catalog(t.Context())
		require.NoError(t, err)
		require.Equal(t, "default/shop", cat.Deliveries[0].Key())
	})
}

func TestTheStoreIsNotAskedMoreThanFourTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := open(t)
		declare(t, store, "shop")
		s := shelf.New(store)
		for range 100 {
			_, err := s.Catalog(t.Context())
			require.NoError(t, err)
		}
		require.Equal(t, int64(1), store.looks.Load())
	})
}

func TestARecordIsFoundByTheRolloutsID(t *testing.T) {
	store := open(t)
	keeper := activities.Keeper{Blobs: activities.Blobs{Store: store.Store}}
	want := workflows.RolloutStatus{Delivery: "default/shop", Number: 7, Phase: gitops.PhaseHealthy}
	raw, err := json.Marshal(want)
	require.NoError(t, err)
	require.NoError(t, keeper.SaveRecord(t.Context(), "rollout/default/shop/dev/7", raw))
	got, err := shelf.New(store).Record(t.Context(), "rollout/default/shop/dev/7")
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = shelf.New(store).Record(t.Context(), "rollout/default/shop/dev/8")
	require.ErrorIs(t, err, artifact.ErrNotFound)
}
