package activities

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/tidegate/tidegate/internal/catalog"
	"github.com/tidegate/tidegate/internal/gitops"
)

// Librarian reads the catalog: what there is to deliver, and to where.
type Librarian struct {
	Dir      string // the folder of YAML files
	Regions  []gitops.Region
	Identity func(repoURL string) (string, error)
	Blobs    Blobs
	Every    time.Duration // how often Watch looks at the folder
}

// CatalogSummary is what a workflow knows of a catalog.
type CatalogSummary struct {
	Digest string `json:"digest"`
	// Deliveries has the artifact of each Delivery's specification by its key;
	// equal specifications have equal digests.
	Deliveries map[string]string `json:"deliveries"`
	// Refs are what each Delivery's sources follow, by its key.
	Refs map[string][]gitops.Ref `json:"refs"`
	// Problems are the first of them, and how many there are besides.
	Problems []gitops.Problem `json:"problems,omitempty"`
}

// CatalogName is the named object that holds the catalog as it was loaded last.
const CatalogName = "catalog"

// Load reads the folder, keeps the catalog in the artifact store and says what
// is in it. Documents that are refused are among the problems.
func (l *Librarian) Load(ctx context.Context) (CatalogSummary, error) {
	cat, err := l.read()
	if err != nil {
		return CatalogSummary{}, classify(err)
	}
	previous, err := l.Blobs.catalog(ctx)
	if err != nil {
		return CatalogSummary{}, classify(err)
	}
	cat = catalog.KeepLast(previous, cat)
	summary := CatalogSummary{Digest: cat.Digest, Deliveries: map[string]string{}, Refs: map[string][]gitops.Ref{}, Problems: atMost(maxProblems, cat.Problems)}
	for _, d := range cat.Deliveries {
		digest, err := l.Blobs.putJSON(ctx, "delivery", d)
		if err != nil {
			return CatalogSummary{}, classify(fmt.Errorf("keep the specification of %s: %w", d.Key(), err))
		}
		summary.Deliveries[d.Key()], summary.Refs[d.Key()] = digest, d.Refs()
	}
	return summary, classify(l.Blobs.setNamedJSON(ctx, CatalogName, cat))
}

// catalog is the catalog as it was loaded last; empty before the first time.
func (b Blobs) catalog(ctx context.Context) (cat gitops.Catalog, err error) {
	if _, err := b.namedJSON(ctx, CatalogName, &cat); err != nil {
		return cat, fmt.Errorf("read the catalog that was loaded before: %w", err)
	}
	return cat, nil
}

// maxProblems keeps a summary of a catalog far below what Temporal accepts.
const maxProblems = 200

func atMost(n int, problems []gitops.Problem) []gitops.Problem {
	if len(problems) <= n {
		return problems
	}
	more := gitops.Problem{Message: fmt.Sprintf("%d more problems; tidegate validate lists them all", len(problems)-n)}
	return append(slices.Clone(problems[:n]), more)
}

func (l *Librarian) read() (gitops.Catalog, error) {
	cat, err := catalog.Load(l.Dir, catalog.Options{Regions: l.Regions, Identity: l.Identity})
	if err != nil {
		return cat, fmt.Errorf("read the catalog in %s: %w", l.Dir, err)
	}
	return cat, nil
}

// Watch returns when the folder is no longer what digest says. A folder that
// cannot be read counts as unchanged: an error is never a deletion.
func (l *Librarian) Watch(ctx context.Context, digest string) error {
	ticker := time.NewTicker(l.Every)
	defer ticker.Stop()
	for {
		if cat, err := l.read(); err == nil && cat.Digest != digest {
			return nil
		}
		activity.RecordHeartbeat(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
