package report

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// decisionTimes are how long decisions took.
type decisionTimes struct{ decided *prometheus.HistogramVec }

func newDecisionTimes() decisionTimes {
	return decisionTimes{prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "caddy_rate_limit_decision_seconds",
		Help: "How long a request waited for the decision, by the slowest source that one of its zones needed. Of the " +
			"decisions that wait for no other process, one in 64 is measured.",
		Buckets: []float64{
			1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 1e-4, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1,
		},
	}, []string{"source"})}
}

// Took counts that a decision took so long.
func (t *decisionTimes) Took(source limiter.Source, took time.Duration) {
	t.decided.WithLabelValues(source.String()).Observe(took.Seconds())
}
