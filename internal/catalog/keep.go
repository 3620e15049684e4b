package catalog

import (
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
)

// KeepLast returns what is to be delivered when loaded follows previous. While
// loaded has a Problem, nothing that was declared goes away: a Delivery that is
// missing, or has lost a target, keeps its previous version, and a target stays
// in the Delivery that it was in, so that a broken Pipeline sets none of its
// Applications free. Digest, Regions and Problems are always those of loaded.
func KeepLast(previous, loaded gitops.Catalog) gitops.Catalog {
	if len(loaded.Problems) == 0 {
		return loaded
	}
	owner := map[string]string{} // of each target, by its name
	for _, d := range previous.Deliveries {
		for _, t := range d.Targets {
			owner[t.Name] = d.Key()
		}
	}
	now, then := byKey(loaded), byKey(previous)
	result := loaded
	result.Deliveries = nil
	for _, before := range previous.Deliveries {
		if after, ok := now[before.Key()]; !ok || hasLost(before, after) || takesFromAnother(after, owner) {
			result.Deliveries = append(result.Deliveries, before)
		} else {
			result.Deliveries = append(result.Deliveries, after)
		}
	}
	for _, d := range loaded.Deliveries {
		if _, known := then[d.Key()]; !known && !takesFromAnother(d, owner) {
			result.Deliveries = append(result.Deliveries, d)
		}
	}
	slices.SortFunc(result.Deliveries, func(a, b gitops.Delivery) int { return strings.Compare(a.Key(), b.Key()) })
	return result
}

func byKey(cat gitops.Catalog) map[string]gitops.Delivery {
	deliveries := make(map[string]gitops.Delivery, len(cat.Deliveries))
	for _, d := range cat.Deliveries {
		deliveries[d.Key()] = d
	}
	return deliveries
}

// hasLost says whether a target of before is not in after.
func hasLost(before, after gitops.Delivery) bool {
	return slices.ContainsFunc(before.Targets, func(t gitops.Target) bool {
		_, ok := after.Target(t.Name)
		return !ok
	})
}

// takesFromAnother says whether a target was in another Delivery before.
func takesFromAnother(d gitops.Delivery, owner map[string]string) bool {
	return slices.ContainsFunc(d.Targets, func(t gitops.Target) bool {
		key, had := owner[t.Name]
		return had && key != d.Key()
	})
}
