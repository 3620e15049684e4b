package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/activities"
)

// Catalog keeps the Deliveries in step with what the catalog declares: it starts
// and updates them, and retires those that are gone. While any document is in
// error nothing is retired.
func Catalog(ctx workflow.Context, in CatalogInput) error {
	c := catalogue{status: in.Status}
	if err := workflow.SetQueryHandler(ctx, QueryStatus, func() (CatalogStatus, error) { return c.status, nil }); err != nil {
		return err
	}
	for !workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
		loaded, err := loadCatalog(ctx)
		if err != nil {
			return err
		}
		if err := c.announce(ctx, loaded); err != nil {
			return err
		}
		c.show(ctx)
		c.waitForChange(ctx)
	}
	return workflow.NewContinueAsNewError(ctx, Catalog, CatalogInput{Status: c.status})
}

type catalogue struct {
	status CatalogStatus
}

// announce tells every Delivery whose specification has changed, and those that
// are no longer declared.
func (c *catalogue) announce(ctx workflow.Context, loaded activities.CatalogSummary) error {
	var letters []activities.Letter
	for _, key := range workflow.DeterministicKeys(loaded.Deliveries) {
		digest := loaded.Deliveries[key]
		if c.status.Deliveries[key] == digest {
			continue
		}
		letters = append(letters, letterToDelivery(key, SignalSpecification, Specification{Digest: digest}))
	}
	if len(loaded.Problems) == 0 {
		for _, key := range workflow.DeterministicKeys(c.status.Deliveries) {
			if _, declared := loaded.Deliveries[key]; !declared {
				letters = append(letters, letterToDelivery(key, SignalSpecification, Specification{Retired: true}))
			}
		}
	}
	if err := deliverLetters(ctx, fmt.Sprintf("tell %d Deliveries", len(letters)), letters...); err != nil {
		return err
	}
	c.status = CatalogStatus{Digest: loaded.Digest, Deliveries: loaded.Deliveries, Problems: loaded.Problems, Loaded: workflow.Now(ctx)}
	return nil
}

// waitForChange returns when the catalog has changed or somebody asks for it to
// be read again.
func (c *catalogue) waitForChange(ctx workflow.Context) {
	waiting, cancel := workflow.WithCancel(ctx)
	defer cancel()
	watch := workflow.NewChannel(ctx)
	workflow.Go(waiting, func(ctx workflow.Context) {
		_ = watchCatalog(ctx, c.status.Digest)
		watch.Close()
	})
	refresh := workflow.GetSignalChannel(ctx, SignalRefresh)
	workflow.NewSelector(ctx).
		AddReceive(watch, func(workflow.ReceiveChannel, bool) {}).
		AddReceive(refresh, func(channel workflow.ReceiveChannel, _ bool) { channel.Receive(ctx, nil) }).
		Select(ctx)
}

// show lists the problems in the Web UI.
func (c *catalogue) show(ctx workflow.Context) {
	details := fmt.Sprintf("%d Deliveries, %d problems\n", len(c.status.Deliveries), len(c.status.Problems))
	for _, p := range c.status.Problems {
		details += fmt.Sprintf("\n- `%s:%d` %s %s: %s", p.File, p.Line, p.Object, p.Field, p.Message)
	}
	workflow.SetCurrentDetails(ctx, details)
}
