package window_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/window"
)

var update = flag.Bool("update", false, "rewrite the golden file")

func parse(t require.TestingT, text string) gitops.Window {
	parts := strings.Split(text, "|")
	require.Len(t, parts, 3, text)
	duration, err := time.ParseDuration(strings.TrimSpace(parts[1]))
	require.NoError(t, err)
	return gitops.Window{Schedule: strings.TrimSpace(parts[0]), Duration: duration, TimeZone: strings.TrimSpace(parts[2])}
}

// TestCases plays testdata/cases.txt: rules, and moments at which they are asked.
// cases.golden has what they say, in UTC.
func TestCases(t *testing.T) {
	cases, err := os.ReadFile("testdata/cases.txt")
	require.NoError(t, err)
	var out strings.Builder
	var rule gitops.WindowRule
	asked := false
	for line := range strings.Lines(string(cases)) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "allow", "deny":
			if asked {
				rule, asked = gitops.WindowRule{}, false
			}
			w := parse(t, rest)
			require.NoError(t, window.Check(w))
			if word == "allow" {
				rule.Allow = append(rule.Allow, w)
			} else {
				rule.Deny = append(rule.Deny, w)
			}
		case "at":
			asked = true
			at, err := time.Parse(time.RFC3339, rest)
			require.NoError(t, err)
			v, err := window.At(rule, at)
			require.NoError(t, err)
			line = fmt.Sprintf("%s: %s", line, describe(v))
		}
		out.WriteString(line + "\n")
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/cases.golden", []byte(out.String()), 0o600))
	}
	want, err := os.ReadFile("testdata/cases.golden")
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}

func describe(v window.Verdict) string {
	state, until := "closed", "for ever"
	if v.Open {
		state = "open"
	}
	if !v.Until.IsZero() {
		until = "until " + v.Until.Format(time.RFC3339)
	}
	return fmt.Sprintf("%s %s, %s", state, until, v.Why)
}

// TestAVerdictHoldsUntilItSays asks again before and at the moment that a verdict names.
func TestAVerdictHoldsUntilItSays(t *testing.T) {
	schedules := []string{"0 9 * * 1-5", "30 2 * * *", "*/20 * * * *", "0 0 1 * *", "15 22 * * 0", "0 12 29 2 *"}
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Auckland", "America/St_Johns"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (windows []gitops.Window) {
			for range rapid.IntRange(0, 2).Draw(t, label) {
				windows = append(windows, gitops.Window{
					Schedule: rapid.SampledFrom(schedules).Draw(t, "schedule"), TimeZone: rapid.SampledFrom(zones).Draw(t, "zone"),
					Duration: time.Duration(rapid.IntRange(1, 3000).Draw(t, "minutes")) * time.Minute,
				})
			}
			return windows
		}
		rule := gitops.WindowRule{Allow: draw("allow"), Deny: draw("deny")}
		at := time.Unix(rapid.Int64Range(1_750_000_000, 1_850_000_000).Draw(t, "at"), 0)
		v, err := window.At(rule, at)
		require.NoError(t, err)
		if v.Until.IsZero() {
			return
		}
		require.True(t, v.Until.After(at))
		before, err := window.At(rule, at.Add(v.Until.Sub(at)/2))
		require.NoError(t, err)
		require.Equal(t, v.Open, before.Open)
		then, err := window.At(rule, v.Until)
		require.NoError(t, err)
		require.NotEqual(t, v.Open, then.Open)
	})
}

func TestWhatIsWrongWithAWindowIsSaid(t *testing.T) {
	for text, want := range map[string]string{
		"0 9 * * | 8h | UTC":               "is no schedule",
		"0 9 * * mon-fri-sun | 8h | UTC":   "is no schedule",
		"@every 1h | 8h | UTC":             "is no schedule",
		"TZ=UTC 0 9 * * * | 8h | UTC":      "has a field of its own",
		"0 25 * * * | 8h | UTC":            "is no schedule",
		"0 9 * * * | 0s | UTC":             "needs a duration",
		"0 9 * * * | 8h |":                 "needs a time zone",
		"0 9 * * * | 8h | Europe/Nowhere":  "is no time zone",
		"0 9 * * * | 8h | Local":           "is no time zone",
		"0 9 * * * | 8h | ../../etc/hosts": "is no time zone",
	} {
		require.ErrorContains(t, window.Check(parse(t, text)), want, text)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("0 9 * * 1-5", "Europe/Berlin", int64(time.Hour))
	f.Add("*/5 1,2 1-3 jan sun", "UTC", int64(1))
	f.Fuzz(func(t *testing.T, schedule, zone string, duration int64) {
		w := gitops.Window{Schedule: schedule, TimeZone: zone, Duration: time.Duration(duration)}
		if window.Check(w) != nil {
			return
		}
		_, err := window.At(gitops.WindowRule{Allow: []gitops.Window{w}}, time.Unix(1_800_000_000, 0))
		require.NoError(t, err)
	})
}
