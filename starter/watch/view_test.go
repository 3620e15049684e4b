package watch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/starter/screen"
	"github.com/tidegate/tidegate/starter/watch"
)

func TestALargeFleetShowsWhatIsUrgentAndCountsTheRest(t *testing.T) {
	v := watch.View{Title: "default/shop  release 2 (0f1e2d3)"}
	for i := range 200 {
		row := watch.Row{Stage: "production", Region: fmt.Sprintf("region-%03d", i), Wave: "done", Health: "Healthy", Urgency: watch.Done}
		switch {
		case i == 150:
			row.Wave, row.Health, row.Urgency = "failed in Sync wave 0", "Degraded", watch.Broken
		case i >= 190:
			row.Wave, row.Health, row.Urgency = "planning", "–", watch.Pending
		}
		v.Rows = append(v.Rows, row)
	}
	v.Notes = []string{"region-150: " + strings.Repeat("a long reason ", 20)}
	lines := v.Lines(80, 24, screen.Palette{})
	require.LessOrEqual(t, len(lines), 24)
	golden(t, "large-fleet", strings.Join(lines, "\n")+"\n")
}

func TestATinyTerminalIsNotOverflown(t *testing.T) {
	v := watch.View{Title: strings.Repeat("x", 200), Rows: make([]watch.Row, 50), Notes: []string{"a", "b", "c", "d", "e"}}
	for height := 1; height < 30; height++ {
		require.LessOrEqual(t, len(v.Lines(20, height, screen.Palette{})), height)
	}
}
