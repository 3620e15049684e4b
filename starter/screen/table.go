// Package screen lays text out for people: tables that fit a terminal, colours
// where they are wanted, and a part of the terminal that is drawn again and
// again.
package screen

import (
	"strings"
	"unicode/utf8"
)

// Width is how many columns there are when nobody knows better.
const Width = 80

const gap = "  "

// Table is rows under headings. Every row has a cell for each heading.
type Table struct {
	Headings []string
	Rows     [][]string
}

// Lines lays the table out within width columns; no width is no limit. Cells
// are cut, the widest column first, when they do not fit. Words that tell a
// state are painted.
func (t Table) Lines(width int, p Palette) []string {
	widths := t.widths()
	shrink(widths, width)
	lines := []string{strings.TrimRight(join(t.Headings, widths, Palette{}), " ")}
	for _, row := range t.Rows {
		lines = append(lines, strings.TrimRight(join(row, widths, p), " "))
	}
	return lines
}

func (t Table) widths() []int {
	widths := make([]int, len(t.Headings))
	for _, row := range append([][]string{t.Headings}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// shrink takes from the widest column until all fit, and leaves each enough to
// be recognised.
func shrink(widths []int, width int) {
	const least = 6
	for width > 0 {
		total, widest := len(gap)*(len(widths)-1), 0
		for i, w := range widths {
			total += w
			if w > widths[widest] {
				widest = i
			}
		}
		if total <= width || widths[widest] <= least {
			return
		}
		widths[widest]--
	}
}

func join(cells []string, widths []int, p Palette) string {
	var b strings.Builder
	for i, cell := range cells {
		if i > 0 {
			b.WriteString(gap)
		}
		cell = Cut(cell, widths[i])
		b.WriteString(p.paint(cell))
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
	}
	return b.String()
}

// Cut shortens text to width columns, and shows that it did.
func Cut(text string, width int) string {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// Wrap breaks text at blanks into lines of at most width columns, each begun
// with indent. A word that is longer has a line of its own.
func Wrap(text, indent string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(indent+line+" "+word) > width {
			lines = append(lines, indent+line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line != "" {
		lines = append(lines, indent+line)
	}
	return lines
}
