package api

import (
	"context"

	"github.com/tidegate/tidegate/workflows"
)

// noCatalog is said when the Catalog workflow is not there; `tidegate serve`
// starts it every few seconds.
const noCatalog = "the catalog is not read yet; see that `tidegate-worker` runs, then try again"

func (s server) getCatalog(ctx context.Context, _ *struct{}) (*answer[workflows.CatalogStatus], error) {
	var status workflows.CatalogStatus
	err := s.Asker.Query(ctx, workflows.CatalogID, workflows.QueryStatus, &status)
	return &answer[workflows.CatalogStatus]{status}, explain(err, noCatalog)
}

func (s server) refreshCatalog(ctx context.Context, _ *struct{}) (*answer[Outcome], error) {
	err := s.Teller.Signal(ctx, workflows.CatalogID, workflows.SignalRefresh, nil)
	return &answer[Outcome]{Outcome{Message: "the catalog is read again"}}, explain(err, noCatalog)
}
