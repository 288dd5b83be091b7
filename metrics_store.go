package fleetlimit

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetlimit/fleetlimit/limiter/lease"
)

var (
	descStoreRequests = desc("store_requests_total", "Requests of this node to Redis about counts.", "store")
	descLeases        = desc("lease_events_total", "Events of limits that Redis has lent to this node (granted), that went back "+
		"unspent (returned), that were not spent before their window ended (expired), and those of which nobody knows whether they "+
		"were served or went back (lost).", "store", "what")
	descCredit = desc("credit_events_total", "Events that this node has admitted before Redis had answered (admitted), and "+
		"those of them that Redis knows of (settled).", "store", "what")
	descDebt     = desc("debt_events", "Events that this node has admitted and that Redis does not know of yet.", "store")
	descAccounts = desc("accounts", "Keys that this node has an account for now.", "store")
	descForeign  = desc("store_foreign_values_total", "Values in Redis that this plugin cannot have written: taken for nothing, and "+
		"replaced by the next write.", "store")
	descNodes = desc("nodes", "Nodes of the fleet, this one included.", "store")
)

// storeDescs are what collectStores collects.
var storeDescs = []*prometheus.Desc{descStoreRequests, descLeases, descCredit, descDebt, descAccounts, descForeign, descNodes}

// requests measures what stores in Redis are asked.
type requests struct {
	seconds *prometheus.HistogramVec
	errors  *prometheus.CounterVec
}

func newRequests() requests {
	return requests{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "caddy_rate_limit_store_seconds",
			Help:    "How long Redis took to answer about counts.",
			Buckets: []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1},
		}, []string{"store"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "caddy_rate_limit_store_errors_total",
			Help: "Requests to Redis about counts that were not answered.",
		}, []string{"store"}),
	}
}

// of returns what a store calls after each request.
func (r requests) of(store string) func(time.Duration, error) {
	seconds, errors := r.seconds.WithLabelValues(store), r.errors.WithLabelValues(store)
	return func(took time.Duration, err error) {
		if err != nil {
			errors.Inc()
			return
		}
		seconds.Observe(took.Seconds())
	}
}

// forget ends the series of a store.
func (r requests) forget(store string) {
	r.seconds.DeleteLabelValues(store)
	r.errors.DeleteLabelValues(store)
}

// collectStores writes the metrics of the stores in Redis. During a reload there may be two of one name, which count as one.
func collectStores(ch chan<- prometheus.Metric) {
	type numbers struct {
		lease.Stats
		nodes   int
		foreign uint64
	}
	byName := make(map[string]numbers)
	for _, s := range pooledStores() {
		if s.leases != nil {
			n := byName[s.name]
			n.Stats, n.nodes = n.Stats.Plus(s.leases.Stats()), max(n.nodes, s.nodes.Nodes())
			n.foreign += s.counts.Foreign()
			byName[s.name] = n
		}
	}
	for name, n := range byName {
		count := func(d *prometheus.Desc, n uint64, what ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), append([]string{name}, what...)...)
		}
		count(descStoreRequests, n.Requests)
		count(descForeign, n.foreign)
		count(descLeases, n.Granted, "granted")
		count(descLeases, n.Returned, "returned")
		count(descLeases, n.Expired, "expired")
		count(descLeases, n.Lost, "lost")
		count(descCredit, n.Credited, "admitted")
		count(descCredit, n.Settled, "settled")
		ch <- prometheus.MustNewConstMetric(descDebt, prometheus.GaugeValue, float64(n.Debt), name)
		ch <- prometheus.MustNewConstMetric(descAccounts, prometheus.GaugeValue, float64(n.Accounts), name)
		ch <- prometheus.MustNewConstMetric(descNodes, prometheus.GaugeValue, float64(n.nodes), name)
	}
}
