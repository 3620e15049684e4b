// Package window says when windows of time are open: pure rules over schedules in cron's
// form, durations and time zones. The zones' data is part of the program, so that every
// worker knows the same.
package window

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // see the package's own words

	"github.com/robfig/cron/v3"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Verdict is what a rule says of one moment.
type Verdict struct {
	Open bool
	// Until is when that changes; zero when it does not, as far as can be seen.
	Until time.Time
	// Why names the window that decides, for people.
	Why string
}

// Check says what is wrong with a window; nil when nothing is.
func Check(w gitops.Window) error {
	_, err := read(w)
	return err
}

// window is a gitops.Window, read.
type window struct {
	gitops.Window
	schedule cron.Schedule
	zone     *time.Location
}

func read(w gitops.Window) (window, error) {
	out := window{Window: w}
	switch {
	case w.TimeZone == "":
		return out, errors.New("a window needs a time zone; write it as timeZone: Europe/Berlin, or UTC")
	case w.Duration <= 0:
		return out, errors.New("a window needs a duration, as 8h")
	}
	var err error
	if out.zone, err = time.LoadLocation(w.TimeZone); err != nil || w.TimeZone == "Local" {
		return out, fmt.Errorf("%q is no time zone; write it as Europe/Berlin, or UTC", w.TimeZone)
	}
	parser := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	if out.schedule, err = parser.Parse(w.Schedule); err == nil && strings.Contains(w.Schedule, "=") {
		err = errors.New("the time zone has a field of its own")
	}
	if err != nil {
		return out, fmt.Errorf("%q is no schedule: %w; write minute, hour, day of the month, month and day of the week, as 0 9 * * 1-5", w.Schedule, err)
	}
	return out, nil
}

// start is when the window that is open at a moment has opened; false when it is not.
func (w window) start(at time.Time) (time.Time, bool) {
	start := w.schedule.Next(at.In(w.zone).Add(-w.Duration))
	return start, !start.IsZero() && !start.After(at)
}

// edge is the next moment at which the window may open or close.
func (w window) edge(at time.Time) time.Time {
	next := w.schedule.Next(at.In(w.zone))
	if start, open := w.start(at); open {
		if end := start.Add(w.Duration); next.IsZero() || end.Before(next) {
			return end
		}
	}
	return next
}

func (w window) String() string {
	return fmt.Sprintf("%s for %s in %s", w.Schedule, w.Duration, w.TimeZone)
}

// maxEdges bounds how far At looks ahead.
const maxEdges = 10_000

// At says whether a rule is open at a moment: where it allows windows one of them must
// be open, and none of those that it denies.
func At(rule gitops.WindowRule, at time.Time) (Verdict, error) {
	var r windows
	for _, set := range []struct {
		from []gitops.Window
		into *[]window
	}{{rule.Allow, &r.allow}, {rule.Deny, &r.deny}} {
		for _, text := range set.from {
			w, err := read(text)
			if err != nil {
				return Verdict{}, err
			}
			*set.into = append(*set.into, w)
		}
	}
	verdict := Verdict{}
	verdict.Open, verdict.Why = r.open(at)
	for edge, n := r.edge(at), 0; !edge.IsZero() && n < maxEdges; edge, n = r.edge(edge), n+1 {
		if open, _ := r.open(edge); open != verdict.Open {
			verdict.Until = edge.UTC()
			break
		}
	}
	return verdict, nil
}

// windows are those of a rule.
type windows struct{ allow, deny []window }

func (r windows) open(at time.Time) (open bool, why string) {
	for _, w := range r.deny {
		if _, denied := w.start(at); denied {
			return false, "denied by the window " + w.String()
		}
	}
	for _, w := range r.allow {
		if _, allowed := w.start(at); allowed {
			return true, "in the window " + w.String()
		}
	}
	if len(r.allow) > 0 {
		return false, "outside of its windows"
	}
	return true, "outside of the windows that are denied"
}

// edge is the next moment at which one of the windows may open or close; zero when
// there is none.
func (r windows) edge(at time.Time) (next time.Time) {
	for _, set := range [][]window{r.allow, r.deny} {
		for _, w := range set {
			if edge := w.edge(at); !edge.IsZero() && (next.IsZero() || edge.Before(next)) {
				next = edge
			}
		}
	}
	return next
}
