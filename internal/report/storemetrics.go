package report

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// storeMetrics are about the requests to stores, by their names.
type storeMetrics struct {
	seconds *prometheus.HistogramVec
	errors  *prometheus.CounterVec
}

func newStoreMetrics() storeMetrics {
	return storeMetrics{
		prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "caddy_rate_limit_store_seconds",
			Help:    "How long Redis took to answer about counts.",
			Buckets: []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1},
		}, []string{"store"}),
		prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "caddy_rate_limit_store_errors_total",
			Help: "Requests to Redis about counts that were not answered.",
		}, []string{"store"}),
	}
}

// Asked implements stores.Observer.
func (m *storeMetrics) Asked(store string) func(time.Duration, error) {
	seconds, errors := m.seconds.WithLabelValues(store), m.errors.WithLabelValues(store)
	return func(took time.Duration, err error) {
		if err != nil {
			errors.Inc()
			return
		}
		seconds.Observe(took.Seconds())
	}
}

// Ended implements stores.Observer.
func (m *storeMetrics) Ended(store string) {
	m.seconds.DeleteLabelValues(store)
	m.errors.DeleteLabelValues(store)
}

// Describe implements prometheus.Collector.
func (m *storeMetrics) Describe(ch chan<- *prometheus.Desc) {
	m.seconds.Describe(ch)
	m.errors.Describe(ch)
}

// Collect implements prometheus.Collector.
func (m *storeMetrics) Collect(ch chan<- prometheus.Metric) {
	m.seconds.Collect(ch)
	m.errors.Collect(ch)
}
