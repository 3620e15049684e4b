package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/starter/screen"
)

// View is one look at what is watched.
type View struct {
	Title string
	Rows  []Row
	Notes []string // what people should know or do
	End   *End     // nil while it goes on
}

// Row is one target.
type Row struct {
	Stage, Region, Target string
	Wave                  string // where it stands: "waiting Sync wave 0 (1/3)", "done"
	Health                string
	Urgency               Urgency
}

// Urgency orders rows when there is no room for all.
type Urgency int

// The urgencies, most urgent first.
const (
	Broken  Urgency = iota
	Active          // is being delivered
	Pending         // its turn comes
	Done
)

func (u Urgency) String() string { return [...]string{"broken", "active", "pending", "done"}[u] }

// Lines lays the view out within a width and a height; no height is no limit.
// Rows that find no room are counted.
func (v View) Lines(width, height int, p screen.Palette) []string {
	lines := []string{p.Bold(screen.Cut(v.Title, width)), ""}
	var notes []string
	for _, n := range v.Notes {
		notes = append(notes, screen.Wrap(n, "", width)...)
	}
	rows, rest := v.Rows, ""
	if height > 0 {
		const around = 5 // title, blank lines, headings, what was left out
		if room := height - around; len(notes) > room/2 {
			notes = append(notes[:max(room/2-1, 0)], "…")
		}
		rows, rest = fit(v.Rows, max(height-around-len(notes), 1))
	}
	lines = append(lines, table(rows).Lines(width, p)...)
	if rest != "" {
		lines = append(lines, screen.Cut(rest, width))
	}
	if len(notes) > 0 {
		lines = append(append(lines, ""), notes...)
	}
	if height > 0 && len(lines) > height {
		return lines[:height]
	}
	return lines
}

func table(rows []Row) screen.Table {
	t := screen.Table{Headings: []string{"STAGE", "REGION", "WAVE", "HEALTH"}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{r.Stage, r.Region, r.Wave, r.Health})
	}
	return t
}

// fit chooses the rows to show when there are too many, and says what the
// others are.
func fit(rows []Row, room int) (shown []Row, rest string) {
	if len(rows) <= room {
		return rows, ""
	}
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rows[a].Urgency, rows[b].Urgency) })
	chosen := slices.Sorted(slices.Values(order[:room]))
	for _, i := range chosen {
		shown = append(shown, rows[i])
	}
	count := map[Urgency]int{}
	for _, i := range order[room:] {
		count[rows[i].Urgency]++
	}
	var parts []string
	for u := Broken; u <= Done; u++ {
		if count[u] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[u], u))
		}
	}
	return shown, fmt.Sprintf("… and %d more: %s", len(rows)-room, strings.Join(parts, ", "))
}

// tellApart adds the target to the region of every row when a region has two.
func tellApart(rows []Row) {
	seen := map[string]bool{}
	twice := false
	for _, r := range rows {
		twice = twice || seen[r.Region]
		seen[r.Region] = true
	}
	for i := range rows {
		if twice {
			rows[i].Region += " " + rows[i].Target
		}
	}
}
