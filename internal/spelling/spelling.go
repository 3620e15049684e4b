// Package spelling finds the name that somebody meant when they wrote another,
// for error messages that show the way out.
package spelling

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest returns the name that is most like wanted, or "" when none is near
// enough to be a likely slip. Case counts for less than letters do.
func Nearest(wanted string, names []string) string {
	best, least := "", len(wanted)/2+1
	for _, name := range names {
		if d := distance(strings.ToLower(wanted), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

// Hint is Nearest as the end of a sentence: "; did you mean ...?", or "".
func Hint(wanted string, names []string) string {
	if near := Nearest(wanted, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// Closest returns up to n names, once each, those first that are most like wanted.
func Closest(wanted string, names []string, n int) []string {
	type candidate struct {
		name     string
		distance int
	}
	var all []candidate
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		all = append(all, candidate{name, distance(wanted, name)})
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var closest []string
	for _, c := range all[:min(len(all), n)] {
		closest = append(closest, c.name)
	}
	return closest
}

// distance counts the letters to insert, delete or replace, and swapped
// neighbours as one. Only the start of very long names is compared.
func distance(a, b string) int {
	const limit = 100
	a, b = a[:min(len(a), limit)], b[:min(len(b), limit)]
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
