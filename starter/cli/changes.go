package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/starter/screen"
	"github.com/tidegate/tidegate/workflows"
)

// changeLines shows what a plan changes: once for the most targets that are alike,
// then what is different in the others.
func (p *program) changeLines(r workflows.RolloutStatus) (lines []string) {
	groups := alike(r.Targets)
	for i, g := range groups {
		switch {
		case i > 0:
			lines = append(lines, p.difference(groups[0][0], g)...)
		case len(groups) == 1:
			lines = append(lines, "", "changes:")
		case len(g) == 1:
			lines = append(lines, "", "changes in "+g[0].Name+":")
		default:
			lines = append(lines, "", fmt.Sprintf("changes in %d of %d targets, which are alike:", len(g), len(r.Targets)))
		}
		if i == 0 {
			for _, change := range g[0].Changes {
				lines = append(lines, p.change(change)...)
			}
		}
	}
	return lines
}

// alike groups the targets that change something by what they change, the largest
// group first.
func alike(targets []workflows.TargetStatus) (groups [][]workflows.TargetStatus) {
	for _, t := range targets {
		if len(t.Changes) == 0 {
			continue
		}
		i := slices.IndexFunc(groups, func(g []workflows.TargetStatus) bool {
			return g[0].ChangesDigest == t.ChangesDigest && slices.Equal(g[0].Changes, t.Changes)
		})
		if i < 0 {
			groups = append(groups, nil)
			i = len(groups) - 1
		}
		groups[i] = append(groups[i], t)
	}
	slices.SortStableFunc(groups, func(a, b []workflows.TargetStatus) int { return cmp.Compare(len(b), len(a)) })
	return groups
}

// difference is what targets change otherwise than most.
func (p *program) difference(most workflows.TargetStatus, others []workflows.TargetStatus) []string {
	names := make([]string, 0, len(others))
	for _, t := range others {
		names = append(names, t.Name)
	}
	added, missing := without(others[0].Changes, most.Changes), without(most.Changes, others[0].Changes)
	title := "differently in " + strings.Join(names, ", ") + ":"
	if len(added)+len(missing) == 0 {
		title = "differently in " + strings.Join(names, ", ") + ", beyond what is listed here"
	}
	lines := append([]string{""}, screen.Wrap(title, "", p.textWidth())...)
	for _, change := range added {
		lines = append(lines, p.change(change)...)
	}
	for _, change := range missing {
		object, _, _ := strings.Cut(change, "\n")
		if !slices.ContainsFunc(added, func(a string) bool { return strings.HasPrefix(a, object) }) {
			lines = append(lines, screen.Wrap("not: "+object, "  ", p.textWidth())...)
		}
	}
	return lines
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

// change is one object that changes, and its fields below it.
func (p *program) change(text string) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		indent := "  " + line[:len(line)-len(strings.TrimLeft(line, " "))]
		lines = append(lines, screen.Wrap(strings.TrimSpace(line), indent, p.textWidth())...)
	}
	return lines
}
