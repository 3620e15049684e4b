package activities

import (
	"context"
	"time"
)

// ProbeInput names the region to ask.
type ProbeInput struct {
	Region string `json:"region"`
}

// ProbeResult says which cluster has answered.
type ProbeResult struct {
	UID string `json:"uid"` // of its kube-system namespace
}

const (
	probeFirst = 500 * time.Millisecond
	probeLast  = 30 * time.Second
)

// Probe returns when the region answers, however long that takes. It asks often at
// first, then less and less.
func (r *Region) Probe(ctx context.Context, in ProbeInput) (ProbeResult, error) {
	defer beat(ctx)()
	region, err := r.Kube(in.Region)
	if err != nil {
		return ProbeResult{}, classify(err)
	}
	for delay := probeFirst; ; delay = min(2*delay, probeLast) {
		uid, err := region.Probe(ctx)
		if err == nil {
			return ProbeResult{UID: uid}, nil
		}
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ProbeResult{}, ctx.Err()
		}
	}
}
