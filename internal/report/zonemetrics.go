package report

import (
	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/stores"
	"github.com/fleetlimit/fleetlimit/internal/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
)

var (
	descDecisions = desc("decisions_total", "Decisions of a zone: admitted, rejected (429), degraded (admitted "+
		"by on_outage, as the store did not answer), unavailable (503 by on_outage), allowed (past the zone by its "+
		"allow_key list), denied (403 by its deny_key list or for lack of a key, 400 for a key, tier or cost that is "+
		"ambiguous), and of a dry run would_reject and would_deny. The source is what decided: the store, or this node by a lease, by a remembered denial, "+
		"or by on_outage.", "zone", "outcome", "source")
	descComparisons = desc("comparisons_total", "Requests that the zone has also decided with its second limit or "+
		"algorithm, by what the one in force decides (in_force) and what the second would decide (compared): admitted or "+
		"rejected; only for zones that compare.", "zone", "in_force", "compared")
	descInFlight = desc("in_flight", "Requests of a zone with `concurrent` that are in flight on this node.", "zone")
	descTooMany  = desc("concurrent_rejected_total", "Requests that the zone has rejected, or would have in a dry run, "+
		"because too many of their key were in flight; only for zones with `concurrent`.", "zone")
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

	// The names of caddy-ratelimit. Their label key is always empty.
	descKeys     = desc("keys_total", "Keys that the zone holds; only for zones counted in memory.", "zone")
	descRequests = desc("requests_total", "Requests that the zone has admitted or rejected.", "zone", "key")
	descDeclined = desc("declined_requests_total", "Requests that the zone has rejected.", "zone", "key")
)

// collectZone collects what a zone has decided.
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
	if z.Concurrent.Load() {
		s.gauge(descInFlight, float64(z.InFlight.Load()), z.Name)
		s.count(descTooMany, z.ConcurrentRejected.Load(), z.Name)
	}
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

// collectMemory collects the zones that are counted in memory.
func (s scrape) collectMemory() {
	for _, z := range stores.MemoryZones() {
		stats := z.Stats()
		s.count(descEvictions, stats.Evictions, z.Name())
		s.count(descOverflow, stats.OverflowTakes, z.Name())
		s.gauge(descKeys, float64(stats.Keys), z.Name())
	}
}
