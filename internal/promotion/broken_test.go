package promotion_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// TestTheModelCatchesABrokenRule breaks one rule at a time and expects the model
// checker to notice, and to shrink what it found to a case that a person can
// read.
func TestTheModelCatchesABrokenRule(t *testing.T) {
	for name, broken := range map[string]struct {
		decide decider
		says   string
	}{
		"a progressing rollout yields every time": {says: "the third in a row", decide: func(s promotion.State, e promotion.Event) (promotion.State, []promotion.Command) {
			if e.Kind != promotion.Rendered || e.Render < 1 {
				return promotion.Decide(s, e)
			}
			return promotion.Decide(tamper(s, func(st *promotion.StageState) { st.Yields = 0 }), e)
		}},
		"a terminated rollout counts as healthy": {says: "was not healthy in", decide: func(s promotion.State, e promotion.Event) (promotion.State, []promotion.Command) {
			if e.Kind == promotion.RolloutGone && e.Phase == "" {
				e.Phase = gitops.PhaseHealthy
			}
			return promotion.Decide(s, e)
		}},
		"a release passes a stage before it is healthy": {says: "healthy", decide: func(s promotion.State, e promotion.Event) (promotion.State, []promotion.Command) {
			newest := s.Newest()
			return promotion.Decide(tamper(s, func(st *promotion.StageState) { st.Passed = newest }), e)
		}},
		"a bad rollout is not superseded": {says: "which may mend it", decide: func(s promotion.State, e promotion.Event) (promotion.State, []promotion.Command) {
			if e.Rollout < 0 {
				return promotion.Decide(s, e)
			}
			return promotion.Decide(tamper(s, func(st *promotion.StageState) {
				if st.Running != nil && st.Running.Phase == gitops.PhaseDegraded {
					running := *st.Running
					running.Phase, st.Running, st.Yields = gitops.PhaseProgressing, &running, 2
				}
			}), e)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			found := &witness{}
			quickly(t, func() {
				rapid.Check(found, func(t *rapid.T) {
					w := newWorld(t, broken.decide)
					t.Repeat(w.actions())
					w.calmDown(true)
				})
			})
			require.True(t, found.failed, "the model is blind to this")
			trace := found.trace()
			t.Logf("found and shrunk to:\n%s", strings.Join(trace, "\n"))
			require.Contains(t, found.log.String(), broken.says)
			require.Less(t, len(trace), 120, "a case that nobody would read")
		})
	}
}

// tamper changes every stage of a copy of a state.
func tamper(s promotion.State, change func(*promotion.StageState)) promotion.State {
	s.Stages = append([]promotion.StageState(nil), s.Stages...)
	for i := range s.Stages {
		change(&s.Stages[i])
	}
	return s
}

// quickly searches for as long as it takes, shortens shrinking, and keeps the
// case out of testdata.
func quickly(t *testing.T, do func()) {
	for name, value := range map[string]string{"rapid.checks": "20000", "rapid.shrinktime": "3s", "rapid.nofailfile": "true"} {
		f := flag.Lookup(name)
		before := f.Value.String()
		require.NoError(t, f.Value.Set(value))
		defer func() { require.NoError(t, f.Value.Set(before)) }()
	}
	do()
}

// witness is a test that is meant to fail.
type witness struct {
	log    strings.Builder
	failed bool
}

func (w *witness) Helper()                   {}
func (w *witness) Name() string              { return "witness" }
func (w *witness) Logf(f string, a ...any)   { fmt.Fprintf(&w.log, f+"\n", a...) }
func (w *witness) Log(a ...any)              { fmt.Fprintln(&w.log, a...) }
func (w *witness) Skipf(f string, a ...any)  { w.Logf(f, a...) }
func (w *witness) Skip(a ...any)             { w.Log(a...) }
func (w *witness) SkipNow()                  {}
func (w *witness) Errorf(f string, a ...any) { w.failed = true; w.Logf(f, a...) }
func (w *witness) Error(a ...any)            { w.failed = true; w.Log(a...) }
func (w *witness) Fatalf(f string, a ...any) { w.Errorf(f, a...) }
func (w *witness) Fatal(a ...any)            { w.Error(a...) }
func (w *witness) FailNow()                  { w.failed = true }
func (w *witness) Fail()                     { w.failed = true }
func (w *witness) Failed() bool              { return w.failed }

// trace is what was told to the Delivery, and what it decided.
func (w *witness) trace() []string {
	var trace []string
	for line := range strings.Lines(w.log.String()) {
		line = strings.TrimRight(line, "\n")
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.Contains(line, "[rapid]") || word == "" {
			continue
		}
		if word == "Messages:" || word[0] >= 'A' && word[0] <= 'Z' && !strings.HasSuffix(word, ":") {
			trace = append(trace, line)
		}
	}
	return trace
}
