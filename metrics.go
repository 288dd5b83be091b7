package fleetlimit

import (
	"errors"
	"math"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/memstore"
)

// metrics are the counts of all zones of this process. One collector serves every configuration's registry, so counters
// survive reloads. It reads atomics when it is scraped; requests never wait for it.
var metrics = collector{requests: newRequests()}

type collector struct {
	addressAllowed atomic.Uint64 // requests past all zones by the allow list
	addressDenied  atomic.Uint64 // 403 by the deny list
	requests       requests
}

// registerMetrics offers the metrics in a configuration's registry.
func registerMetrics(registry *prometheus.Registry) error {
	if registry == nil {
		return nil
	}
	if err := registry.Register(&metrics); !errors.As(err, new(prometheus.AlreadyRegisteredError)) {
		return err
	}
	return nil
}

// No label is ever a key or anything else that a client writes.
var (
	descDecisions = desc("decisions_total", "Decisions of a zone: admitted, rejected (429), degraded (admitted "+
		"without being counted, as the store did not answer), allowed (past the zone by its allow_key list) and denied "+
		"(403 by its deny_key list or for want of a key). Source is what decided: the store, or this node by a lease, on credit, "+
		"or by a denial that it remembers.", "zone", "outcome", "source")
	descAddresses = desc("address_decisions_total", "Requests decided by the client's address before any zone: allowed "+
		"and denied (403).", "outcome")
	descOvershoot = desc("max_overshoot_ratio", "The largest fraction of a limit of the zone by which a fleet may exceed it; 0 for "+
		"zones that are strict, or counted in memory.", "zone")
	descMissing   = desc("missing_keys_total", "Requests in which the zone's key was missing.", "zone")
	descAmbiguous = desc("ambiguous_total", "Keys, tiers and costs that were ambiguous: their header, query parameter or cookie "+
		"occurred more than once, or programs read it differently.", "zone")
	descCosts     = desc("invalid_costs_total", "Requests whose cost was empty, not a number or below 1, and counted as 1.", "zone")
	descEvictions = desc("evictions_total", "Keys that were forgotten before their reset to make room for others; "+
		"only for zones counted in memory.", "zone")
	descOverflow = desc("overflow_total", "Takes of keys that found no room in a zone full of keys at their limit, and "+
		"shared one of 4096 counts; only for zones counted in memory.", "zone")

	// The names of caddy-ratelimit. Their label key is always empty.
	descKeys     = desc("keys_total", "Keys that the zone remembers now; only for zones counted in memory.", "zone")
	descRequests = desc("requests_total", "Requests that the zone has admitted or rejected.", "zone", "key")
	descDeclined = desc("declined_requests_total", "Requests that the zone has rejected.", "zone", "key")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("caddy_rate_limit_"+name, help, labels, nil)
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range append(storeDescs, descDecisions, descAddresses, descMissing, descAmbiguous, descCosts, descEvictions, descOverflow, descKeys,
		descRequests, descDeclined, descOvershoot) {
		ch <- d
	}
	c.requests.seconds.Describe(ch)
	c.requests.errors.Describe(ch)
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	count(descAddresses, c.addressAllowed.Load(), "allowed")
	count(descAddresses, c.addressDenied.Load(), "denied")
	for _, z := range pooledZones() {
		degraded, rejected := z.counters.degraded.Load(), z.counters.rejected.total()
		for source := range limiter.Source(limiter.Sources) {
			if source != limiter.FromRememberedDenial {
				count(descDecisions, z.counters.admitted[source].Load(), z.name, "admitted", source.String())
			}
			if source != limiter.FromLease && source != limiter.FromCredit {
				count(descDecisions, z.counters.rejected[source].Load(), z.name, "rejected", source.String())
			}
		}
		count(descDecisions, degraded, z.name, "degraded", "")
		count(descDecisions, z.counters.allowed.Load(), z.name, "allowed", "")
		count(descDecisions, z.counters.denied.Load(), z.name, "denied", "")
		count(descRequests, z.counters.admitted.total()+rejected+degraded, z.name, "")
		count(descDeclined, rejected, z.name, "")
		ch <- prometheus.MustNewConstMetric(descOvershoot, prometheus.GaugeValue,
			math.Float64frombits(z.maxOvershoot.Load()), z.name)
		count(descMissing, z.counters.missingKeys.Load(), z.name)
		count(descAmbiguous, z.counters.ambiguous.Load(), z.name)
		count(descCosts, z.counters.invalidCosts.Load(), z.name)
	}
	collectStores(ch)
	c.requests.seconds.Collect(ch)
	c.requests.errors.Collect(ch)
	for _, h := range pooledHandles() {
		z, inMemory := h.Zone.(*memstore.Zone)
		if !inMemory {
			continue
		}
		stats := z.Stats()
		count(descEvictions, stats.Evictions, z.Name())
		count(descOverflow, stats.OverflowTakes, z.Name())
		ch <- prometheus.MustNewConstMetric(descKeys, prometheus.GaugeValue, float64(stats.Keys), z.Name())
	}
}

// Interface guard.
var _ prometheus.Collector = (*collector)(nil)
