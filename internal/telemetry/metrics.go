package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are Tidegate's own. Their names and labels are a contract with dashboards and alerts. Label values come from
// small fixed sets or from settings, never from what a stranger sends.
type Metrics struct {
	// WebhookEvents counts requests, by provider, event type ("unknown" unless verified) and status: what became of them.
	WebhookEvents *prometheus.CounterVec
	// WebhookDedupeHits counts redeliveries that were answered and not handled again.
	WebhookDedupeHits prometheus.Counter
	// ManifestGenerationDuration is the time from a checkout to its manifests, by renderer.
	ManifestGenerationDuration *prometheus.HistogramVec
	// ManifestGenerationErrors counts renders without a result, by renderer and error type.
	ManifestGenerationErrors *prometheus.CounterVec
	// RenderCacheLookups counts renders that were asked for, by result: hit (nothing that it reads has changed) or miss.
	RenderCacheLookups *prometheus.CounterVec
	// SandboxWait is how long a render waited for its sandbox.
	SandboxWait prometheus.Histogram
	// SandboxSlots counts the sandboxes that were started ahead, by result: started or failed.
	SandboxSlots *prometheus.CounterVec
	// SyncDuration is the time that one part of a sync (plan, apply, wait …) takes in one region, for each step anew.
	SyncDuration *prometheus.HistogramVec
	// SyncErrors counts phases that ended in an error, by region, phase and error type.
	SyncErrors *prometheus.CounterVec
}

// NewMetrics makes the metrics and registers them with r. It panics when r has them already: that is a mistake in the
// program.
func NewMetrics(r prometheus.Registerer) *Metrics {
	auto := promauto.With(r)
	return &Metrics{
		WebhookEvents: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "tidegate_webhook_events_total", Help: "Webhook requests received.",
		}, []string{"provider", "event_type", "status"}),
		WebhookDedupeHits: auto.NewCounter(prometheus.CounterOpts{
			Name: "tidegate_webhook_dedupe_hits_total", Help: "Webhook redeliveries that were not handled again.",
		}),
		ManifestGenerationDuration: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tidegate_manifest_generation_duration_seconds", Help: "Time to render manifests.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120},
		}, []string{"renderer"}),
		ManifestGenerationErrors: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "tidegate_manifest_generation_errors_total", Help: "Renders that ended in an error.",
		}, []string{"renderer", "error_type"}),
		RenderCacheLookups: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "tidegate_render_cache_lookups_total", Help: "Renders that were asked for, by whether an earlier one was found.",
		}, []string{"result"}),
		SandboxWait: auto.NewHistogram(prometheus.HistogramOpts{
			Name: "tidegate_sandbox_wait_seconds", Help: "Time a render waits for a free sandbox.",
			Buckets: []float64{.00001, .0001, .001, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30},
		}),
		SandboxSlots: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "tidegate_sandbox_slots_started_total", Help: "Sandboxes started ahead of their use.",
		}, []string{"result"}),
		SyncDuration: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tidegate_sync_duration_seconds", Help: "Time of one phase of a sync in one region.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800},
		}, []string{"region", "phase"}),
		SyncErrors: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "tidegate_sync_errors_total", Help: "Phases of a sync that ended in an error.",
		}, []string{"region", "phase", "error_type"}),
	}
}
