package main

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/tidegate/tidegate/internal/gitops"
)

// classEvery is the pause between two looks at what a region serves, silentEvery
// the one before a region that did not answer is asked again.
const (
	classEvery  = 5 * time.Minute
	silentEvery = 2 * time.Second
)

// classer tells what a region is like.
type classer interface {
	Class(ctx context.Context) (gitops.RegionClass, error)
}

// publishClasses keeps a note of what each region serves until ctx ends: charts
// are rendered by workers that cannot ask a region.
func publishClasses[R classer](ctx context.Context, log *zap.Logger, regions map[string]R, publish func(ctx context.Context, region string, class gitops.RegionClass) error) {
	published := map[string]gitops.RegionClass{}
	for {
		pause := classEvery
		for _, name := range slices.Sorted(maps.Keys(regions)) {
			class, err := regions[name].Class(ctx)
			if err == nil && !reflect.DeepEqual(class, published[name]) {
				err = publish(ctx, name, class)
			}
			if err != nil {
				log.Debug("what a region serves is not known", zap.String("region", name), zap.Error(err))
				pause = silentEvery
				continue
			}
			published[name] = class
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}
