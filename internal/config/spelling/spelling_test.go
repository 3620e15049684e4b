package spelling_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/config/spelling"
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
