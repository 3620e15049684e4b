package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/config"
	"github.com/tidegate/tidegate/internal/kube"
)

// Slots of a region's two queues: few for what writes, so that a region is never
// flooded; many for what only waits.
const (
	regionSlots     = 8
	regionWaitSlots = 5000
)

// regions serves the queues of every region that this worker has credentials
// for. A region that is down is served too: that is how it is found to be down.
func (p program) regions(open map[string]*kube.Region) []worker.Worker {
	region := &activities.Region{
		Kube: func(name string) (*kube.Region, error) {
			if r, ok := open[name]; ok {
				return r, nil
			}
			return nil, fmt.Errorf("this worker does not serve region %s", name)
		},
		Store: activities.Blobs{Store: p.store}, MAC: p.store.MAC, Metrics: p.metrics,
	}
	var workers []worker.Worker
	for _, name := range slices.Sorted(maps.Keys(open)) {
		for _, q := range []struct {
			name  string
			slots int
			beat  time.Duration // the longest between two heartbeats
		}{
			{activities.RegionQueue(name), regionSlots, time.Second},
			{activities.RegionWaitQueue(name), regionWaitSlots, time.Minute},
		} {
			w := worker.New(p.temporal, q.name, worker.Options{
				DisableWorkflowWorker: true, MaxConcurrentActivityExecutionSize: q.slots, MaxHeartbeatThrottleInterval: q.beat,
				WorkerStopTimeout: stopTimeout, DisableRegistrationAliasing: true,
			})
			w.RegisterActivity(region)
			workers = append(workers, w)
		}
	}
	return workers
}

// openRegions prepares the clients of the regions that this worker serves.
func (p program) openRegions(ctx context.Context) (map[string]*kube.Region, error) {
	open := map[string]*kube.Region{}
	for _, name := range p.options.regions {
		settings, _ := p.settings.Region(name)
		region, err := kube.Open(ctx, regionSettings(settings))
		if err != nil {
			return nil, err
		}
		open[name] = region
	}
	return open, nil
}

func regionSettings(s config.Region) kube.Settings {
	return kube.Settings{
		Name: s.Name, Kubeconfig: s.Kubeconfig, Context: s.Context, Version: version(),
		QPS: float32(s.QPS), Burst: int(2 * s.QPS), InFlight: s.InFlight,
	}
}
