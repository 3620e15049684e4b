package screen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/starter/screen"
)

func TestATableIsCutAtItsWidestColumn(t *testing.T) {
	table := screen.Table{Headings: []string{"NAME", "STATE", "TEXT"}, Rows: [][]string{{"a", "Healthy", strings.Repeat("wörd ", 20)}, {"bbbb", "x", "y"}}}
	require.Equal(t, []string{
		"NAME  STATE    TEXT",
		"a     Healthy  wörd wörd wörd …",
		"bbbb  x        y",
	}, table.Lines(31, screen.Palette{}))
	require.Contains(t, table.Lines(0, screen.Palette{})[1], strings.TrimSpace(strings.Repeat("wörd ", 20)))
}

func TestOnlyWordsThatTellAStateArePaintedAndNoColumnMoves(t *testing.T) {
	table := screen.Table{Headings: []string{"HEALTH", "NAME"}, Rows: [][]string{{"Healthy", "Healthily"}, {"Degraded", "b"}}}
	require.Equal(t, []string{
		"HEALTH    NAME",
		"\x1b[32mHealthy\x1b[0m   Healthily",
		"\x1b[31mDegraded\x1b[0m  b",
	}, table.Lines(0, screen.Palette{Colours: true}))
}

func TestTextIsWrappedAtBlanks(t *testing.T) {
	require.Equal(t, []string{"  one two", "  three", "  " + strings.Repeat("x", 20), "  end"}, screen.Wrap("one two three "+strings.Repeat("x", 20)+" end", "  ", 9))
	require.Empty(t, screen.Wrap(" ", "", 10))
}

func TestADrawingReplacesTheOneBefore(t *testing.T) {
	var out strings.Builder
	live := screen.Live{Out: &out}
	require.NoError(t, live.Draw([]string{"a", "b"}))
	require.NoError(t, live.Draw([]string{"c"}))
	require.NoError(t, live.Draw([]string{"d"}))
	require.Equal(t, "a\x1b[K\nb\x1b[K\n\x1b[J\x1b[2Ac\x1b[K\n\x1b[J\x1b[1Ad\x1b[K\n\x1b[J", out.String())
}
