package report

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// counted has the families of metrics that this package counts as things happen. A scrape reads the others
// from the counters of other packages.
type counted struct {
	families []prometheus.Collector

	decided              *prometheus.HistogramVec // decisions, by source
	requests             *prometheus.HistogramVec // to stores that have answered
	failures             *prometheus.CounterVec   // of requests to stores
	restored             *prometheus.CounterVec   // rules, by store
	recorded, unrecorded *prometheus.CounterVec   // decisions that were to be recorded, by the place to record them
}

func newCounted() (c counted) {
	c.decided = c.histogram("decision_seconds", "How long a request waited for the decision, by the slowest source that one of "+
		"its zones needed. Of the decisions that wait for no other process, one in 64 is measured.", "source",
		1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 1e-4, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1)
	c.requests = c.histogram("store_seconds", "How long Redis took to answer about counts.", "store",
		.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1)
	c.failures = c.counter("store_errors_total", "Requests to Redis about counts that were not answered.", "store")
	c.restored = c.counter("rules_restored_total", "How often this node has written back the rules to a store that had lost them.",
		"store")
	c.recorded = c.counter("decisions_recorded_total", "Decisions that were recorded.", "to")
	c.unrecorded = c.counter("decisions_unrecorded_total", "Decisions that were to be recorded and were dropped: they came too "+
		"fast, or the database was too slow.", "to")
	return c
}

func (c *counted) histogram(name, help, label string, buckets ...float64) *prometheus.HistogramVec {
	o := prometheus.HistogramOpts{Name: "caddy_rate_limit_" + name, Help: help, Buckets: buckets}
	f := prometheus.NewHistogramVec(o, []string{label})
	c.families = append(c.families, f)
	return f
}

func (c *counted) counter(name, help, label string) *prometheus.CounterVec {
	f := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "caddy_rate_limit_" + name, Help: help}, []string{label})
	c.families = append(c.families, f)
	return f
}

// Took counts a decision, by its source and by how long it took.
func (c *counted) Took(source limiter.Source, took time.Duration) {
	c.decided.WithLabelValues(source.String()).Observe(took.Seconds())
}

// Asked implements stores.Observer.
func (c *counted) Asked(store string) func(time.Duration, error) {
	requests, failures := c.requests.WithLabelValues(store), c.failures.WithLabelValues(store)
	return func(took time.Duration, err error) {
		if err != nil {
			failures.Inc()
			return
		}
		requests.Observe(took.Seconds())
	}
}

// Ended implements stores.Observer.
func (c *counted) Ended(store string) {
	c.requests.DeleteLabelValues(store)
	c.failures.DeleteLabelValues(store)
}
