package spelling_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/spelling"
)

func TestNearestFindsLikelySlipsAndNothingElse(t *testing.T) {
	names := []string{"address", "namespace", "listen", "url"}
	for wanted, near := range map[string]string{
		"adress":     "address",
		"namepsace":  "namespace",
		"Listen":     "listen",
		"ulr":        "url",
		"kubernetes": "",
		"":           "",
	} {
		require.Equal(t, near, spelling.Nearest(wanted, names), wanted)
	}
	require.Equal(t, "; did you mean url?", spelling.Hint("urll", names))
	require.Empty(t, spelling.Hint("something", names))
}

func TestClosestListsTheMostAlikeFirst(t *testing.T) {
	names := []string{"release-1", "main", "maim", "trunk", "main"}
	require.Equal(t, []string{"main", "maim"}, spelling.Closest("mian", names, 2))
	require.Len(t, spelling.Closest("mian", names, 9), 4)
	require.Empty(t, spelling.Closest("mian", nil, 3))
}
