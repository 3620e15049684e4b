package gitops_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/gitops"
)

func TestGatesAreTheSameWhenTheyAskForTheSame(t *testing.T) {
	hours := func(schedule string) gitops.Gate {
		return gitops.Gate{Name: "hours", Kind: gitops.GateWindow, Window: &gitops.WindowRule{Allow: []gitops.Window{{Schedule: schedule, Duration: time.Hour, TimeZone: "UTC"}}}}
	}
	approval := gitops.Gate{Name: "approval", Kind: gitops.GateApproval}
	two := approval
	two.Approvals = 2
	require.True(t, gitops.SameGates(nil, []gitops.Gate{}))
	require.True(t, gitops.SameGates([]gitops.Gate{approval, hours("0 9 * * *")}, []gitops.Gate{approval, hours("0 9 * * *")}))
	for _, other := range [][]gitops.Gate{nil, {approval}, {two, hours("0 9 * * *")}, {approval, hours("0 8 * * *")}, {approval, {Name: "hours", Kind: gitops.GateWindow}}} {
		require.False(t, gitops.SameGates([]gitops.Gate{approval, hours("0 9 * * *")}, other), "%v", other)
	}
}
