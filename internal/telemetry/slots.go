package telemetry

import "github.com/prometheus/client_golang/prometheus"

// CountSlots shows how many sandboxes are idle and busy, as stats says whenever
// it is asked.
func CountSlots(r prometheus.Registerer, stats func() (idle, busy int)) {
	gauge := func(state string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tidegate_sandbox_slots", Help: "Sandboxes that are alive.", ConstLabels: prometheus.Labels{"state": state},
		}, value)
	}
	r.MustRegister(
		gauge("idle", func() float64 { idle, _ := stats(); return float64(idle) }),
		gauge("busy", func() float64 { _, busy := stats(); return float64(busy) }),
	)
}
