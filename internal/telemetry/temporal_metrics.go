package telemetry

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"
)

// temporalMetrics is one set of tags over a seriesSet that all handlers share.
type temporalMetrics struct {
	series *seriesSet
	tags   prometheus.Labels
	key    string // of the tags; equal tags have equal keys
}

// TemporalMetrics makes Temporal's SDK put its metrics into r. Counters get the suffix _total, timers become histograms
// in seconds with the suffix _seconds; names and tags are otherwise the SDK's.
func TemporalMetrics(r prometheus.Registerer) client.MetricsHandler {
	series := newSeriesSet()
	r.MustRegister(series)
	return temporalMetrics{series: series}
}

// WithTags returns a handler whose metrics carry tags on top of the ones that this handler's do.
func (m temporalMetrics) WithTags(tags map[string]string) client.MetricsHandler {
	merged := maps.Clone(m.tags)
	if merged == nil {
		merged = prometheus.Labels{}
	}
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		merged[labelName(name)] = strings.ToValidUTF8(tags[name], "?")
	}
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		key.WriteString("\xff" + name + "\xff" + merged[name]) // \xff is in no valid UTF-8
	}
	return temporalMetrics{series: m.series, tags: merged, key: key.String()}
}

// Counter returns the counter of that name and of this handler's tags.
func (m temporalMetrics) Counter(name string) client.MetricsCounter {
	name = labelName(name)
	if !strings.HasSuffix(name, "_total") {
		name += "_total"
	}
	c, ok := series(m.series, name, m.key, func() counter {
		return counter{prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: temporalHelp, ConstLabels: m.tags})}
	})
	if !ok {
		return client.MetricsNopHandler.Counter(name)
	}
	return c
}

// Gauge returns the gauge of that name and of this handler's tags.
func (m temporalMetrics) Gauge(name string) client.MetricsGauge {
	name = labelName(name)
	g, ok := series(m.series, name, m.key, func() gauge {
		return gauge{prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: temporalHelp, ConstLabels: m.tags})}
	})
	if !ok {
		return client.MetricsNopHandler.Gauge(name)
	}
	return g
}

// Timer returns the timer of that name and of this handler's tags.
func (m temporalMetrics) Timer(name string) client.MetricsTimer {
	name = labelName(name) + "_seconds"
	h, ok := series(m.series, name, m.key, func() timer {
		return timer{prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: name, Help: temporalHelp, ConstLabels: m.tags,
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
		})}
	})
	if !ok {
		return client.MetricsNopHandler.Timer(name)
	}
	return h
}

type counter struct{ prometheus.Counter }

// Inc adds delta; a counter only grows, so that a negative one is dropped.
func (c counter) Inc(delta int64) {
	if delta > 0 {
		c.Add(float64(delta))
	}
}

type gauge struct{ prometheus.Gauge }

func (g gauge) Update(value float64) { g.Set(value) }

type timer struct{ prometheus.Histogram }

func (t timer) Record(d time.Duration) { t.Observe(d.Seconds()) }
