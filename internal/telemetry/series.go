package telemetry

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

const temporalHelp = "Emitted by Temporal's SDK."

// seriesSet collects metrics whose label names are not known beforehand. Temporal's SDK emits one name with several sets
// of tags, which a vector of Prometheus' library refuses, as it fixes its labels; Prometheus itself does not mind.
type seriesSet struct {
	mu     sync.RWMutex
	series map[seriesKey]prometheus.Metric
	sample map[string]prometheus.Metric // any one of each name: all have its kind
}

type seriesKey struct{ name, tags string }

func newSeriesSet() *seriesSet {
	return &seriesSet{series: map[seriesKey]prometheus.Metric{}, sample: map[string]prometheus.Metric{}}
}

// Describe sends nothing, which tells the registry that the metrics are not known beforehand.
func (s *seriesSet) Describe(chan<- *prometheus.Desc) {}

// Collect sends every metric.
func (s *seriesSet) Collect(out chan<- prometheus.Metric) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, m := range s.series {
		out <- m
	}
}

// series finds a metric or makes it. M must be a concrete type: every Gauge has what the interface Counter asks for. It returns false when the name is in use by a metric of another kind: one name with
// two kinds would make the whole registry unreadable.
func series[M prometheus.Metric](s *seriesSet, name, tags string, create func() M) (M, bool) {
	key := seriesKey{name, tags}
	s.mu.RLock()
	m, ok := s.series[key]
	s.mu.RUnlock()
	if ok {
		typed, ok := m.(M)
		return typed, ok
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.series[key]; ok {
		typed, ok := m.(M)
		return typed, ok
	}
	if other, used := s.sample[name]; used {
		if _, same := other.(M); !same {
			var none M
			return none, false
		}
	}
	made := create()
	s.series[key], s.sample[name] = made, made
	return made, true
}

// labelName replaces what Prometheus does not allow in the names of metrics and labels.
func labelName(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			return c
		}
		return '_'
	}, s)
}
