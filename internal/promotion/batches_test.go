package promotion_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

func amounts(t require.TestingT, text string) (amounts []gitops.Amount) {
	for _, word := range strings.Fields(text) {
		a, err := gitops.ParseAmount(word)
		require.NoError(t, err)
		amounts = append(amounts, a)
	}
	return amounts
}

func TestTargetsHaveTheirTurnInBatches(t *testing.T) {
	for _, c := range []struct{ targets, batches, order, want string }{
		{"a b c d", "", "", "a b c d"},
		{"d c b a", "1", "", "a|b c d"},
		{"a b c d e f g h i j", "1 25% 100%", "", "a|b c|d e f g h i j"},
		{"a b c d e f g h i j", "1 50%", "", "a|b c d e|f g h i j"},
		{"a b c d e f g h i j", "10% 30% 60%", "", "a|b c|d e f|g h i j"},
		{"a b c", "1%", "", "a|b c"},
		{"a b c", "34%", "", "a b|c"},
		{"a b", "1 1 100%", "", "a|b"},
		{"a", "1 25% 100%", "", "a"},
		{"a b c", "5", "", "a b c"},
		{"a b c", "2 1", "", "a b|c"},
		{"a b c", "0 1", "", "a|b c"},
		{"a b c d", "1 2", "c a", "c|a|b d"},
		{"a b c", "1", "nobody b", "b|a c"},
		{"", "1 25%", "", ""},
	} {
		s := gitops.Strategy{Batches: amounts(t, c.batches), Order: strings.Fields(c.order)}
		var got []string
		for _, batch := range promotion.Batches(s, strings.Fields(c.targets)) {
			got = append(got, strings.Join(batch, " "))
		}
		require.Equal(t, c.want, strings.Join(got, "|"), "%+v", c)
	}
}

func TestEveryTargetHasItsTurnOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		targets := rapid.SliceOfNDistinct(rapid.StringMatching("[a-f]{1,3}"), 0, 12, rapid.ID[string]).Draw(t, "targets")
		var s gitops.Strategy
		for range rapid.IntRange(0, 4).Draw(t, "batches") {
			s.Batches = append(s.Batches, gitops.Amount{Count: rapid.IntRange(0, 5).Draw(t, "count")}, gitops.Amount{Percent: rapid.IntRange(0, 100).Draw(t, "share")})
		}
		s.Order = rapid.SliceOf(rapid.SampledFrom(append(targets, "x"))).Draw(t, "order")
		var all []string
		for _, batch := range promotion.Batches(s, targets) {
			require.NotEmpty(t, batch)
			all = append(all, batch...)
		}
		require.Equal(t, slices.Sorted(slices.Values(targets)), slices.Sorted(slices.Values(all)))
	})
}

func TestAFailureBudget(t *testing.T) {
	for _, c := range []struct {
		budget                     string
		failed, unreachable, total int
		spent                      bool
	}{
		{"", 0, 0, 10, false},
		{"", 1, 0, 10, true},
		{"", 0, 5, 10, false}, // they catch up
		{"0", 0, 0, 10, false},
		{"0", 0, 1, 10, true},
		{"1", 1, 0, 10, false},
		{"1", 0, 1, 10, false},
		{"1", 1, 1, 10, true},
		{"20%", 2, 0, 10, false},
		{"20%", 1, 2, 10, true},
		{"20%", 1, 0, 4, true}, // a fifth of four is none
		{"25%", 1, 0, 4, false},
		{"100%", 10, 0, 10, false},
	} {
		s := gitops.Strategy{}
		if c.budget != "" {
			s.FailureBudget = &amounts(t, c.budget)[0]
		}
		why := promotion.Overspent(s, promotion.Tally{Failed: c.failed, Unreachable: c.unreachable, Total: c.total})
		require.Equal(t, c.spent, why != "", "%+v: %s", c, why)
	}
	for text, want := range map[string]string{"-1": "is no number of targets", "x": "is no number of targets", "101%": "more than all", "": "is no number of targets", "2.5": "is no number"} {
		_, err := gitops.ParseAmount(text)
		require.ErrorContains(t, err, want, text)
	}
	require.Equal(t, "25% 3", fmt.Sprintf("%s %s", gitops.Amount{Percent: 25}, gitops.Amount{Count: 3}))
}
