package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tidegate/tidegate/deploy/local/stack"
	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/workflows"
)

// measureAll runs every workload, each after the bare loop has done the same.
func (b *bench) measureAll(ctx context.Context) error {
	w := work{generation: 1}
	for _, step := range []struct {
		name string
		run  func(context.Context, *work) error
	}{
		{"W1 first install", func(ctx context.Context, w *work) error { return b.compare(ctx, "W1", *w) }},
		{"W2 every object changes", func(ctx context.Context, w *work) error { w.generation++; return b.compare(ctx, "W2", *w) }},
		{"W3 one image changes", func(ctx context.Context, w *work) error { w.image++; return b.compare(ctx, "W3", *w) }},
		{"W4 a push outside of the path", b.outsidePush},
		{"equal render", b.equalRender},
		{"W5 every object changes, over three waves", func(ctx context.Context, w *work) error {
			w.generation++
			w.waves = 3
			return b.compare(ctx, "W5", *w)
		}},
		{"W5 with the worker killed in the middle", b.killedWorker},
		{"W2 with one region's API server dead", b.deadRegion},
	} {
		fmt.Printf("\n%s\n", step.name)
		if err := b.quiet(ctx); err != nil {
			return err
		}
		before := b.usages()
		if err := step.run(ctx, &w); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		b.printUsage(before)
	}
	return nil
}

// compare delivers a work by the bare loop, then by Tidegate.
func (b *bench) compare(ctx context.Context, name string, w work) error {
	files := w.files(b.configMaps, b.deployments)
	floor, err := b.floor.deliver(ctx, changed(b.applied, files))
	b.applied = files
	if err != nil {
		return fmt.Errorf("the bare loop: %w", err)
	}
	if err := b.quiet(ctx); err != nil {
		return err
	}
	since, err := b.mark()
	if err != nil {
		return err
	}
	p, err := b.push(ctx, w)
	if err != nil {
		return err
	}
	if err := b.observe(ctx, name+" delivered", delivered(p.commit, b.regions)); err != nil {
		return err
	}
	took := time.Since(p.arrived)
	writes, requests, err := b.requests(since)
	if err != nil {
		return err
	}
	steps, err := b.readSteps(ctx, p.arrived)
	if err != nil {
		return err
	}
	b.result.add(name, comparison{ours: took, floor: floor, apply: steps.took("Apply"), writes: float64(writes) / float64(b.regions)})
	fmt.Printf("  tidegate %.2f s, bare loop %.2f s (apply %.2f s), over it %.2f s; %.1f writes and %.1f reads a region\n",
		took.Seconds(), floor.total.Seconds(), floor.apply.Seconds(), (took - floor.total).Seconds(), float64(writes)/float64(b.regions), float64(requests-writes)/float64(b.regions))
	b.printSteps(p, steps)
	return nil
}

func (b *bench) printSteps(p pushed, s steps) {
	fmt.Printf("  git push %.2f s; after the webhook: head and fetch %.2f, check out %.2f, render %.2f, plan %.2f, apply %.2f, healthy %.2f s after the last apply\n",
		p.git.Seconds(), s.took("Observe").Seconds(), s.took("CheckOut").Seconds(), s.took("Render").Seconds(),
		s.took("Plan").Seconds(), s.took("Apply").Seconds(), s["Wait"].last.Sub(s["Apply"].last).Seconds())
}

// outsidePush is a push that no Delivery reads anything of: until its Push
// workflow has closed.
func (b *bench) outsidePush(ctx context.Context, w *work) error {
	w.outside += "More.\n"
	since, err := b.mark()
	if err != nil {
		return err
	}
	p, err := b.push(ctx, *w)
	if err != nil {
		return err
	}
	var closed workflows.PushResult
	if err := b.temporal.GetWorkflow(ctx, workflows.PushID(b.ref()), "").Get(ctx, &closed); err != nil {
		return err
	}
	took := time.Since(p.arrived)
	_, requests, err := b.requests(since)
	if err != nil {
		return err
	}
	b.result.w4 = took
	fmt.Printf("  %.3f s, %d requests to regions, told %d Deliveries\n", took.Seconds(), requests, len(closed.Deliveries))
	if len(closed.Deliveries) > 0 || requests > 0 || closed.Commit != p.commit {
		return fmt.Errorf("it was not left alone: %+v, %d requests", closed, requests)
	}
	return nil
}

// equalRender is a push that changes files and nothing that is rendered.
func (b *bench) equalRender(ctx context.Context, w *work) error {
	w.comment += "# Nothing that is rendered.\n"
	since, err := b.mark()
	if err != nil {
		return err
	}
	p, err := b.push(ctx, *w)
	if err != nil {
		return err
	}
	if err := b.observe(ctx, "the equal render", delivered(p.commit, b.regions)); err != nil {
		return err
	}
	b.result.noop = time.Since(p.arrived)
	b.result.noopWrites, _, err = b.requests(since)
	fmt.Printf("  %.2f s, %d writes\n", b.result.noop.Seconds(), b.result.noopWrites)
	return err
}

// killedWorker kills the worker in the middle of a rollout and starts it again
// after a second.
func (b *bench) killedWorker(ctx context.Context, w *work) error {
	w.generation++
	p, err := b.push(ctx, *w)
	if err != nil {
		return err
	}
	if err := b.observe(ctx, "the rollout begun", func(s promotion.Status) bool { return progressing(s, p.commit) }); err != nil {
		return err
	}
	worker, _ := stack.Find(b.stack.Dir, "tidegate-worker")
	if err := worker.Kill(); err != nil {
		return err
	}
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	restarted := time.Now()
	if err := b.startWorker(ctx); err != nil {
		return err
	}
	if err := b.observe(ctx, "everything delivered after the kill", delivered(p.commit, b.regions)); err != nil {
		return err
	}
	b.result.recovery = time.Since(restarted)
	fmt.Printf("  done %.1f s after the restart\n", b.result.recovery.Seconds())
	return nil
}

// progressing says whether a commit is being applied.
func progressing(s promotion.Status, commit string) bool {
	for _, stage := range s.Stages {
		if stage.Running != nil && stage.Running.Revision == commit && stage.Running.Phase == "Progressing" {
			return true
		}
	}
	return false
}

// deadRegion kills one region's API server and delivers to the other nine.
func (b *bench) deadRegion(ctx context.Context, w *work) error {
	w.generation++
	w.waves = 0
	dead := b.stack.Regions[len(b.stack.Regions)-1]
	if err := dead.Kill(); err != nil {
		return err
	}
	p, err := b.push(ctx, *w)
	if err != nil {
		return err
	}
	if err := b.observe(ctx, "nine regions delivered", delivered(p.commit, b.regions-1)); err != nil {
		return err
	}
	b.result.nine = time.Since(p.arrived)
	fmt.Printf("  nine regions after %.2f s\n", b.result.nine.Seconds())
	restarted := time.Now()
	if err := dead.Restart(ctx); err != nil {
		return err
	}
	if err := b.observe(ctx, "the tenth region caught up", delivered(p.commit, b.regions)); err != nil {
		return err
	}
	fmt.Printf("  the tenth has caught up %.1f s after its restart\n", time.Since(restarted).Seconds())
	return nil
}

func (b *bench) printUsage(before map[string]usage) {
	after := b.usages()
	for _, name := range []string{"tidegate-worker", "tidegate-serve", "temporal"} {
		cpu := after[name].cpu - before[name].cpu
		if cpu < 0 { // it was started anew
			cpu = after[name].cpu
		}
		fmt.Printf("  %-16s %6.2f CPU-s, peak %d MiB\n", name, cpu, after[name].peak)
	}
}
