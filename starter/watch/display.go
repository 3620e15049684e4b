package watch

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/starter/screen"
)

// display returns what shows one view after the other.
func (o Options) display() func(View) error {
	began := o.Now()
	if o.Size == nil {
		l := lines{o: o, rows: map[string]string{}}
		return l.show
	}
	live := screen.Live{Out: o.Out}
	return func(v View) error {
		width, height := o.Size()
		v.Title += fmt.Sprintf("  %.0f s", o.Now().Sub(began).Seconds())
		return live.Draw(v.Lines(width, height-1, o.Palette))
	}
}

// lines writes what has changed since the last view.
type lines struct {
	o     Options
	title string
	rows  map[string]string // what was written of each target
	notes []string
}

func (l *lines) show(v View) error {
	var b strings.Builder
	at := l.o.Now().Format("15:04:05")
	if v.Title != l.title {
		l.title = v.Title
		fmt.Fprintf(&b, "%s  %s\n", at, v.Title)
	}
	for _, r := range v.Rows {
		line := fmt.Sprintf("%-10s  %-12s  %-30s  %s", r.Stage, r.Region, r.Wave, r.Health)
		if key := r.Stage + "\n" + r.Target; l.rows[key] != line {
			l.rows[key] = line
			fmt.Fprintf(&b, "%s  %s\n", at, line)
		}
	}
	for _, n := range v.Notes {
		if !slices.Contains(l.notes, n) {
			b.WriteString(stamped(at, n))
		}
	}
	l.notes = v.Notes
	if b.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(l.o.Out, b.String())
	return err
}

// stamped is a sentence under its time, wrapped.
func stamped(at, text string) string {
	blank := strings.Repeat(" ", len(at))
	wrapped := strings.Join(screen.Wrap(text, blank+"  ", screen.Width), "\n")
	return strings.Replace(wrapped, blank, at, 1) + "\n"
}
