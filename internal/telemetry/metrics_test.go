package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/telemetry"
)

// scrape is what Prometheus would read.
func scrape(t *testing.T, registry *prometheus.Registry) string {
	w := httptest.NewRecorder()
	telemetry.Handler(registry).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code)
	return w.Body.String()
}

func TestOneRegistryHoldsEverything(t *testing.T) {
	registry := telemetry.NewRegistry()
	telemetry.NewMetrics(registry).WebhookDedupeHits.Inc()
	telemetry.TemporalMetrics(registry).Counter("temporal_worker_start").Inc(1)
	text := scrape(t, registry)
	for _, name := range []string{
		"go_goroutines ", "process_cpu_seconds_total ", "go_build_info{", "tidegate_webhook_dedupe_hits_total 1", "temporal_worker_start_total 1",
	} {
		require.Contains(t, text, "\n"+name)
	}
}

func TestTidegatesMetricsHaveTheirAgreedNamesAndLabels(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := telemetry.NewMetrics(registry)
	m.WebhookEvents.WithLabelValues("github", "push", "accepted").Inc()
	m.WebhookDedupeHits.Inc()
	m.ManifestGenerationDuration.WithLabelValues("helm").Observe(0.2)
	m.ManifestGenerationErrors.WithLabelValues("helm", "timeout").Inc()
	m.SyncDuration.WithLabelValues("eu-1", "sync").Observe(2)
	m.SyncErrors.WithLabelValues("eu-1", "sync", "unreachable").Inc()
	text := scrape(t, registry)
	for _, line := range []string{
		`tidegate_webhook_events_total{event_type="push",provider="github",status="accepted"} 1`,
		`tidegate_webhook_dedupe_hits_total 1`,
		`tidegate_manifest_generation_duration_seconds_sum{renderer="helm"} 0.2`,
		`tidegate_manifest_generation_errors_total{error_type="timeout",renderer="helm"} 1`,
		`tidegate_sync_duration_seconds_sum{phase="sync",region="eu-1"} 2`,
		`tidegate_sync_errors_total{error_type="unreachable",phase="sync",region="eu-1"} 1`,
	} {
		require.Contains(t, text, line+"\n")
	}
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestTheSDKsMetricsMayDifferInTheirTags(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	root := telemetry.TemporalMetrics(registry)
	a := root.WithTags(map[string]string{"namespace": "default", "task-queue": "tidegate"})
	b := a.WithTags(map[string]string{"operation": "Start\xffWorkflow", "namespace": "other"})
	root.Counter("temporal_request").Inc(1)
	a.Counter("temporal_request").Inc(2)
	b.Counter("temporal_request").Inc(3)
	root.WithTags(map[string]string{"task-queue": "tidegate"}).WithTags(map[string]string{"namespace": "default"}).Counter("temporal_request").Inc(4)
	a.Counter("temporal_local_activity_total").Inc(1)
	a.Counter("temporal_local_activity_total").Inc(-5)
	a.Gauge("temporal_num_pollers").Update(5)
	a.Gauge("temporal_num_pollers").Update(4)
	b.Timer("temporal_request_latency").Record(1500 * time.Millisecond)

	text := scrape(t, registry)
	for _, line := range []string{
		`temporal_request_total 1`,
		`temporal_request_total{namespace="default",task_queue="tidegate"} 6`,
		`temporal_request_total{namespace="other",operation="Start?Workflow",task_queue="tidegate"} 3`,
		`temporal_local_activity_total{namespace="default",task_queue="tidegate"} 1`,
		`temporal_num_pollers{namespace="default",task_queue="tidegate"} 4`,
		`temporal_request_latency_seconds_sum{namespace="other",operation="Start?Workflow",task_queue="tidegate"} 1.5`,
	} {
		require.Contains(t, text, line+"\n")
	}
	require.Equal(t, 1, strings.Count(text, "# TYPE temporal_request_total counter"))
}

func TestANameOfTwoKindsDoesNotSpoilTheRegistry(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := telemetry.TemporalMetrics(registry)
	m.Gauge("size").Update(1)
	m.Gauge("jobs_total").Update(1)
	m.WithTags(map[string]string{"a": "b"}).Counter("jobs").Inc(1)
	m.Counter("jobs").Inc(1)
	m.Timer("size").Record(time.Second)
	text := scrape(t, registry)
	require.Contains(t, text, "\njobs_total 1\n")
	require.Contains(t, text, "\nsize 1\n")
	require.NotContains(t, text, `jobs_total{a="b"}`)
}

func TestManyGoroutinesShareOneSeries(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := telemetry.TemporalMetrics(registry)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			for range 100 {
				m.WithTags(map[string]string{"a": "b"}).Counter("jobs").Inc(1)
				m.WithTags(map[string]string{"a": "b"}).Timer("wait").Record(time.Millisecond)
			}
		})
	}
	group.Wait()
	require.Contains(t, scrape(t, registry), `jobs_total{a="b"} 2000`+"\n")
}

func BenchmarkSDKMetric(b *testing.B) {
	m := telemetry.TemporalMetrics(prometheus.NewRegistry()).WithTags(map[string]string{"client_name": "temporal_go", "namespace": "default"})
	for b.Loop() {
		m.WithTags(map[string]string{"operation": "RespondWorkflowTaskCompleted", "namespace": "default"}).Counter("temporal_request").Inc(1)
	}
}
