package fleetlimit

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/report"
	"github.com/fleetlimit/fleetlimit/internal/stores"
	"github.com/fleetlimit/fleetlimit/internal/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/membership"
)

// metrics are the counts of all zones and stores of this process. One collector serves the
// registries of all configurations, so counters survive reloads. It reads them when it is scraped,
// and requests never wait for it.
var metrics = collector{process: reports}

type collector struct {
	process   *report.Process
	addresses usage.Addresses
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
		"by on_outage, as the store did not answer), unavailable (503 by on_outage), allowed (past the zone by its "+
		"allow_key list), denied (403 by its deny_key list or for lack of a key, 400 for a key, tier or cost that is "+
		"ambiguous), and of a dry run would_reject and would_deny. The source is what decided: the store, or this node by a lease, by a remembered denial, "+
		"or by on_outage.", "zone", "outcome", "source")
	descComparisons = desc("comparisons_total", "Requests that the zone has also decided with its second limit or "+
		"algorithm, by what the one in force decides (in_force) and what the second would decide (compared): admitted or "+
		"rejected; only for zones that compare.", "zone", "in_force", "compared")
	descAddresses = desc("address_decisions_total", "Requests decided by the client's address before any zone: "+
		"allowed and denied (403).", "outcome")
	descExemptProxies = desc("exempt_proxies_total", "Requests that are allowed by the client's address although that is "+
		"the peer's, which has forwarded the request for another: probably a proxy, whose clients have no limit.")
	descUntrustedProxies = desc("untrusted_proxies_total", "Requests that a zone has counted by the client's address although "+
		"that is the private address of the peer, which has forwarded the request for another: probably a proxy, whose "+
		"clients share one count.")
	descEmergency = desc("emergency", "Whether emergency mode is on: 1, else 0.")
	descMissing   = desc("missing_keys_total", "Requests in which the zone's key was missing.", "zone")
	descAmbiguous = desc("ambiguous_total", "Keys, tiers, costs and paths that were ambiguous: their header, query "+
		"parameter or cookie occurred more than once, or programs read it differently.", "zone")
	descCosts = desc("invalid_costs_total", "Requests whose cost was empty, not a number or below 1, and counted "+
		"as 1.", "zone")
	descUnknownTiers = desc("unknown_tiers_total", "Requests whose tier is none of the zone's, so that they have the "+
		"default one, or the limit of the zone.", "zone")
	descBeforeAuth = desc("before_authentication_total", "Requests that the zone has decided before authentication: a "+
		"later handler has set what the zone reads.", "zone")
	descEvictions = desc("evictions_total", "Keys that were evicted before their reset to make room for others; "+
		"only for zones counted in memory.", "zone")
	descOverflow = desc("overflow_total", "Takes of keys that found no room in a zone full of keys at their limit, "+
		"and shared one of 4096 counts; only for zones counted in memory.", "zone")

	descStoreRequests = desc("store_requests_total", "Requests of this node to Redis about counts.", "store")
	descLeases        = desc("lease_events_total", "Events that Redis has leased to this node (granted), that were "+
		"returned unspent (returned), that were not spent before their window ended (expired), and that were either "+
		"spent or returned, which is unknown (lost).", "store", "what")
	descOutage = desc("outage_events_total", "Events that this node has admitted without Redis, which was not "+
		"asked as it had failed (admitted), those that Redis has debited since (settled), and those that it never will: of "+
		"a window that has passed, above one limit, of a request that was rejected by another zone, or lost "+
		"(dropped).", "store", "what")
	descOutageDebt = desc("outage_debt_events", "Events that this node has admitted without Redis, and Redis is still to "+
		"debit.", "store")
	descAccounts = desc("accounts", "Keys that this node has an account for.", "store")
	descForeign  = desc("store_foreign_values_total", "Values in Redis that this plugin cannot have written. They "+
		"count as nothing, and the next write replaces them.", "store")
	descBreaker = desc("breaker_state", "The circuit breaker of a primary of Redis: 0 is closed, 1 half-open, 2 open.",
		"store", "primary")
	descLatency = desc("redis_latency_seconds", "How long a primary of Redis took to answer the newest pipeline or probe.",
		"store", "primary")
	descRulesVersion = desc("rules_version", "The version of the rules that is in force on this node; 0 if there are none.",
		"store")
	descRulesFailed = desc("rules_failed_polls_total", "Reads of the rules that have failed. The last known ones stay in "+
		"force meanwhile.", "store")
	descLookup = desc("redis_lookup_failing", "Whether the primaries of Redis cannot be looked up, as no Sentinel or no "+
		"node of the cluster answers: 1, else 0.", "store")
	descMismatched = desc("mismatched_zones", "Zones that other nodes define differently.", "store")
	descNodes      = desc("nodes", "Nodes of the fleet, including this one.", "store")

	// The names of caddy-ratelimit. Their label key is always empty.
	descKeys     = desc("keys_total", "Keys that the zone holds; only for zones counted in memory.", "zone")
	descRequests = desc("requests_total", "Requests that the zone has admitted or rejected.", "zone", "key")
	descDeclined = desc("declined_requests_total", "Requests that the zone has rejected.", "zone", "key")
)

// descs are all that desc has made.
var descs []*prometheus.Desc

func desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc("caddy_rate_limit_"+name, help, labels, nil)
	descs = append(descs, d)
	return d
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descs {
		ch <- d
	}
	c.process.Describe(ch)
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := scrape(ch)
	s.count(descAddresses, c.addresses.Allowed.Load(), adminapi.Allowed)
	s.count(descAddresses, c.addresses.Denied.Load(), adminapi.Denied)
	s.count(descExemptProxies, c.addresses.ExemptProxies.Load())
	s.count(descUntrustedProxies, c.addresses.UntrustedProxies.Load())
	for _, z := range usage.All() {
		s.collectZone(z)
	}
	s.collectEmergency()
	s.collectStores()
	s.collectRules()
	c.process.Collect(ch)
	for _, z := range stores.MemoryZones() {
		stats := z.Stats()
		s.count(descEvictions, stats.Evictions, z.Name())
		s.count(descOverflow, stats.OverflowTakes, z.Name())
		s.gauge(descKeys, float64(stats.Keys), z.Name())
	}
}

// A scrape takes the metrics that one scrape collects.
type scrape chan<- prometheus.Metric

func (s scrape) count(d *prometheus.Desc, n uint64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}

func (s scrape) gauge(d *prometheus.Desc, value float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func (s scrape) collectZone(z *usage.Zone) {
	outage, unavailable, rejected := z.Outage.Total(), z.Unavailable.Total(), z.Rejected.Total()
	for source := range limiter.Source(limiter.Sources) {
		if source.WithoutStore() {
			s.count(descDecisions, z.Outage[source].Load(), z.Name, adminapi.Degraded, source.String())
			s.count(descDecisions, z.Unavailable[source].Load(), z.Name, adminapi.Unavailable, source.String())
		} else if source != limiter.FromRememberedDenial {
			s.count(descDecisions, z.Admitted[source].Load(), z.Name, adminapi.Admitted, source.String())
		}
		if source != limiter.FromLease {
			s.count(descDecisions, z.Rejected[source].Load(), z.Name, adminapi.Rejected, source.String())
			s.count(descDecisions, z.WouldReject[source].Load(), z.Name, adminapi.WouldReject, source.String())
		}
	}
	s.count(descDecisions, z.Allowed.Load(), z.Name, adminapi.Allowed, "")
	s.count(descDecisions, z.Denied.Load(), z.Name, adminapi.Denied, "")
	s.count(descDecisions, z.WouldDeny.Load(), z.Name, adminapi.WouldDeny, "")
	s.count(descRequests, z.Admitted.Total()+z.WouldReject.Total()+rejected+outage+unavailable, z.Name, "")
	s.count(descDeclined, rejected+unavailable, z.Name, "")
	s.count(descMissing, z.MissingKeys.Load(), z.Name)
	s.count(descAmbiguous, z.Ambiguous.Load(), z.Name)
	s.count(descCosts, z.InvalidCosts.Load(), z.Name)
	s.count(descUnknownTiers, z.UnknownTiers.Load(), z.Name)
	s.count(descBeforeAuth, z.BeforeAuth.Load(), z.Name)
	s.collectComparisons(z)
}

func (s scrape) collectComparisons(z *usage.Zone) {
	c := &z.Comparisons
	if !c.Used.Load() {
		return
	}
	s.count(descComparisons, c.BothAdmit.Load(), z.Name, "admitted", "admitted")
	s.count(descComparisons, c.InForceAdmits.Load(), z.Name, "admitted", "rejected")
	s.count(descComparisons, c.ComparedAdmits.Load(), z.Name, "rejected", "admitted")
	s.count(descComparisons, c.BothReject.Load(), z.Name, "rejected", "rejected")
}

// collectEmergency collects whether emergency mode is on, and the decisions of its limit if it ever
// was.
func (s scrape) collectEmergency() {
	on := 0.0
	if emergencyMode.active(time.Now()) != nil {
		on = 1
	}
	s.gauge(descEmergency, on)
	if emergencyMode.used.Load() {
		s.collectZone(&emergencyMode.state)
	}
}

// collectStores collects the stores in Redis.
func (s scrape) collectStores() {
	for _, store := range stores.States() {
		name, n := store.Name, &store.Leases
		s.count(descStoreRequests, n.Requests, name)
		s.count(descForeign, store.Foreign, name)
		s.count(descLeases, n.Granted, name, "granted")
		s.count(descLeases, n.Returned, name, "returned")
		s.count(descLeases, n.Expired, name, "expired")
		s.count(descLeases, n.Lost, name, "lost")
		s.count(descOutage, n.Owed, name, "admitted")
		s.count(descOutage, n.OwedSettled, name, "settled")
		s.count(descOutage, n.OwedDropped, name, "dropped")
		s.gauge(descOutageDebt, float64(n.OutageDebt()), name)
		s.gauge(descAccounts, float64(n.Accounts), name)
		s.gauge(descNodes, float64(store.Nodes), name)
		s.gauge(descMismatched, float64(zonesOf(store.Mismatches)), name)
		failing := 0.0
		if store.LookupErr != nil {
			failing = 1
		}
		s.gauge(descLookup, failing, name)
		for _, b := range store.Primaries {
			s.gauge(descBreaker, float64(b.State), name, b.Addr)
			s.gauge(descLatency, b.Latency.Seconds(), name, b.Addr)
		}
	}
}

// zonesOf returns how many zones have a mismatch.
func zonesOf(mismatches []membership.Mismatch) int {
	zones := make(map[string]bool)
	for _, m := range mismatches {
		zones[m.Zone] = true
	}
	return len(zones)
}

// collectRules collects the watchers of rules. During a reload two of them may have stores of the
// same name: the newer version counts, and failures are summed.
func (s scrape) collectRules() {
	versions, failed := make(map[string]int64), make(map[string]uint64)
	for _, w := range rulePool.All() {
		name := w.Store().Name()
		versions[name] = max(versions[name], w.Latest().Number)
		failed[name] += uint64(w.FailedPolls())
	}
	for name, version := range versions {
		s.gauge(descRulesVersion, float64(version), name)
		s.count(descRulesFailed, failed[name], name)
	}
}

// Interface guard.
var _ prometheus.Collector = (*collector)(nil)
