package main

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/tidegate/tidegate/internal/kube"
)

// identityEvery is the pause before a region that did not answer is asked again
// who it is.
const identityEvery = 10 * time.Second

// refuseTwins ends the worker when two of its regions turn out to be one
// cluster: each would undo what the other does. A region that does not answer is
// asked again until it does.
func refuseTwins(ctx context.Context, log *zap.Logger, regions map[string]*kube.Region) error {
	names := map[string]string{} // by identity
	unknown := regions
	for len(unknown) > 0 {
		silent := map[string]*kube.Region{}
		for name, region := range unknown {
			uid, err := region.Probe(ctx)
			if err != nil {
				silent[name] = region
				continue
			}
			if twin, taken := names[uid]; taken {
				return fmt.Errorf("regions %s and %s of the settings are one cluster (kube-system has UID %s in both): remove one, or make its name an alias of the other", twin, name, uid)
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
