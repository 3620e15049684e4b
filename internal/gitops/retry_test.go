package gitops_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/gitops"
)

func TestPausesBetweenRetries(t *testing.T) {
	none := (*gitops.Retry)(nil)
	_, again := none.Pause(0)
	require.False(t, again)
	r := &gitops.Retry{Limit: 4, Duration: 5 * time.Second, Factor: 2, MaxDuration: 30 * time.Second}
	for n, want := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second} {
		pause, again := r.Pause(n)
		require.True(t, again)
		require.Equal(t, want, pause)
	}
	_, again = r.Pause(4)
	require.False(t, again)
	r.Limit = -1
	pause, again := r.Pause(99)
	require.True(t, again)
	require.Equal(t, 30*time.Second, pause)
	_, again = r.Pause(100)
	require.False(t, again, "for ever is too long")
}
