package activities

import (
	"context"
	"fmt"
	"slices"
)

// Declared says of targets that are about to be deleted why they must not be: which
// Delivery declares them, or which target takes their objects over under another name,
// in the catalog as it was loaded last. What may go is not in the answer.
func (l *Librarian) Declared(ctx context.Context, targets []string) (map[string]string, error) {
	cat, err := l.Blobs.catalog(ctx)
	if err != nil {
		return nil, classify(err)
	}
	declared := map[string]string{}
	for _, d := range cat.Deliveries {
		for _, t := range d.Targets {
			if slices.Contains(targets, t.Name) {
				declared[t.Name] = fmt.Sprintf("Delivery %s declares it", d.Key())
			}
			if t.RenamedFrom != t.Name && slices.Contains(targets, t.RenamedFrom) && declared[t.RenamedFrom] == "" {
				declared[t.RenamedFrom] = fmt.Sprintf("target %s takes its objects over", t.Name)
			}
		}
	}
	return declared, nil
}
