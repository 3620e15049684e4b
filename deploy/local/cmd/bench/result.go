package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidegate/tidegate/internal/gitops"
)

// comparison is one workload, both ways.
type comparison struct {
	ours   time.Duration
	floor  floorTime
	apply  time.Duration // of ours
	writes float64       // a region
}

func (c comparison) over() float64 { return (c.ours - c.floor.total).Seconds() }

// result is what a run found.
type result struct {
	compared   map[string]comparison
	w4, noop   time.Duration
	noopWrites int
	recovery   time.Duration
	nine       time.Duration
}

func (r *result) add(name string, c comparison) {
	if r.compared == nil {
		r.compared = map[string]comparison{}
	}
	r.compared[name] = c
}

// print ends the run with one line for machines.
func (r *result) print() {
	w2 := r.compared["W2"]
	fmt.Printf("\nRESULT w1_over_floor_s=%.2f w2_over_floor_s=%.2f w3_over_floor_s=%.2f w4_s=%.3f w5_over_floor_s=%.2f apply_ratio=%.2f noop_s=%.2f noop_writes=%d w3_writes_per_region=%.1f kill_recovery_s=%.1f nine_ratio=%.2f\n",
		r.compared["W1"].over(), w2.over(), r.compared["W3"].over(), r.w4.Seconds(), (r.compared["W5"].ours - w2.floor.total).Seconds(),
		w2.apply.Seconds()/w2.floor.apply.Seconds(), r.noop.Seconds(), r.noopWrites, r.compared["W3"].writes, r.recovery.Seconds(), r.nine.Seconds()/w2.ours.Seconds())
}

// repository is the identity of the run's repository.
func (b *bench) repository() string {
	return "file/" + strings.TrimPrefix(filepath.Join(b.settings.Git.FileRoot, "bench"), "/")
}

func (b *bench) ref() gitops.Ref { return gitops.Ref{Repository: b.repository(), Revision: "main"} }
