package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"
)

// identityEvery is the pause before a region that did not answer is asked again
// who it is.
const identityEvery = 10 * time.Second

// prober tells which cluster a region is.
type prober interface {
	Probe(ctx context.Context) (uid string, err error)
}

// refuseTwins ends the worker when two of its regions turn out to be one
// cluster: each would undo what the other does. A region that does not answer is
// asked again until it does. place says where the settings declare a region.
func refuseTwins[R prober](ctx context.Context, log *zap.Logger, regions map[string]R, place func(region string) string) error {
	names := map[string]string{} // by identity
	unknown := regions
	for len(unknown) > 0 {
		silent := map[string]R{}
		for _, name := range slices.Sorted(maps.Keys(unknown)) {
			region := unknown[name]
			uid, err := region.Probe(ctx)
			if err != nil {
				silent[name] = region
				continue
			}
			if twin, taken := names[uid]; taken {
				return fmt.Errorf("%s %s is the cluster that %s %s is (kube-system has UID %s in both): remove one, and make its name an alias of the other", place(name), name, place(twin), twin, uid)
			}
			names[uid] = name
		}
		if unknown = silent; len(unknown) == 0 {
			break
		}
		log.Debug("regions that do not answer yet", zap.Int("count", len(unknown)))
		select {
		case <-time.After(identityEvery):
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
