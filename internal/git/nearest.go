package git

import (
	"cmp"
	"slices"
)

const nearbyCount = 5

// nearest returns the few names that are most like the one that was not found.
func nearest(wanted string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var all []candidate
	for _, name := range names {
		all = append(all, candidate{name, distance(wanted, name)})
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	var near []string
	for _, c := range all {
		if len(near) == nearbyCount {
			break
		}
		if !slices.Contains(near, c.name) {
			near = append(near, c.name)
		}
	}
	return near
}

// distance counts the characters to insert, delete or replace. Only the start of
// very long names is compared.
func distance(a, b string) int {
	const limit = 100
	a, b = a[:min(len(a), limit)], b[:min(len(b), limit)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
