package report

import (
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/fleet/stores"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
)

var (
	descDecisions = desc("decisions_total", "Decisions of a zone: admitted, queued (admitted after a wait), rejected (429), degraded (admitted "+
		"by on_outage, as the store did not answer), unavailable (503 by on_outage), allowed (past the zone by its "+
		"allow_key list), denied (403 by its deny_key list or for lack of a key, 400 for a key, tier or cost that is "+
		"ambiguous), overloaded (503 by adaptive), and of a dry run would_reject and would_deny. The source is what decided: the store, or this node by a lease, by a remembered denial, "+
		"or by on_outage. The endpoint is empty for the rest of the zone, and the tier for keys without one.", "zone", "outcome",
		"source", "tier", "endpoint")
	descComparisons = desc("comparisons_total", "Requests that the zone has also decided with its second limit or "+
		"algorithm, by what the one in force decides (in_force) and what the second would decide (compared): admitted or "+
		"rejected; only for zones that compare.", "zone", "in_force", "compared")
	descInFlight = desc("in_flight", "Requests of a zone with `concurrent` that are in flight on this node.", "zone")
	descTooMany  = desc("concurrent_rejected_total", "Requests that the zone has rejected, or would have in a dry run, "+
		"because too many of their key were in flight; only for zones with `concurrent`.", "zone")
	descStalled = desc("stalled_total", "Requests of a zone with `concurrent` or `adaptive` that were ended because their "+
		"client kept them waiting: for the body of the request, or for room for the response.", "zone", "waits_for")
	descAdaptiveLimit = desc("adaptive_limit", "How many requests of the zone may be in flight on this node; only for zones with "+
		"`adaptive`.", "zone")
	descAdaptiveInFlight = desc("adaptive_in_flight", "Requests of a zone with `adaptive` that are in flight on this node.", "zone")
	descCharges          = desc("charges_total", "Requests that were charged after their responses: known (the response said what "+
		"it cost), capped (more than it may be charged), unknown (it did not say), and refunded (it had not gone upstream, or "+
		"has a status that refunds); only for zones with `charge`.", "zone", "outcome")
	descChargeEvents = desc("charge_events_total", "Events of such requests: reserved, charged, and refunded. What was charged "+
		"and refunded is more than what was reserved by the excess of responses that cost more; only for zones with `charge`.", "zone", "kind")
	descChargesOpen = desc("charges_open", "Requests that have reserved events, and whose responses have not ended; only for zones "+
		"with `charge`.", "zone")
	descMissing   = desc("missing_keys_total", "Requests in which the zone's key was missing.", "zone")
	descAmbiguous = desc("ambiguous_total", "Keys, tiers, costs and paths that were ambiguous: their header, query "+
		"parameter or cookie occurred more than once, or programs read it differently.", "zone")
	descCosts = desc("invalid_costs_total", "Requests whose cost was empty, not a number or below 1, and counted "+
		"as 1.", "zone")
	descUnknownTiers = desc("unknown_tiers_total", "Requests whose tier is none of the zone's, so that they have the "+
		"default one, or the limit of the zone.", "zone")
	descBeforeAuth = desc("before_authentication_total", "Requests that the zone has decided before authentication: a "+
		"later handler has set what the zone reads.", "zone")
	descUnprovided = desc("unprovided_placeholders", "Placeholders of the zone that nothing provides, as requests have shown; "+
		"only for zones that have some.", "zone")
	descEvictions = desc("evictions_total", "Keys that were evicted before their reset to make room for others; "+
		"only for zones counted in memory.", "zone")
	descOverflow = desc("overflow_total", "Takes of keys that found no room in a zone full of keys at their limit, "+
		"and shared one of 4096 counts; only for zones counted in memory.", "zone")

	descLimitEvents = desc("limit_events", "The events of the limit in force, changes at run time included, those of "+
		"single keys not. 0: each request is rejected. The endpoint is empty for the rest of the zone, and the tier for keys "+
		"without one.", "zone", "tier", "endpoint")
	descLimitWindow = desc("limit_window_seconds", "The window of the limit in force.", "zone", "tier", "endpoint")
	descHottest     = desc("hottest_key_per_second", "The events per second, rejected ones included, of the key that uses the "+
		"zone most on this node: an average over the last 30 to 60 seconds.", "zone")
	descAtLimit = desc("keys_at_limit", "Keys at their limit, as far as this node knows. They are counted every ten "+
		"seconds.", "zone")

	// The names are those of caddy-ratelimit. Their label key is always empty.
	descKeys     = desc("keys_total", "Keys that the zone holds; only for zones counted in memory.", "zone")
	descRequests = desc("requests_total", "Requests that the zone has admitted or rejected.", "zone", "key")
	descDeclined = desc("declined_requests_total", "Requests that the zone has rejected.", "zone", "key")
)

// collectZone collects what a zone has decided. A series begins with its first event, so that a zone without
// requests costs next to nothing. Only series that are compared with others begin at 0. used reports whether
// the zone has had requests.
func (s scrape) collectZone(z *usage.ZoneCounters) (used bool) {
	for _, c := range z.AllCounters() {
		s.collectDecisions(z.Name, c)
	}
	sum := z.Sum()
	s.countEvents(descDecisions, z.Allowed.Load(), z.Name, api.Allowed, "", "", "")
	s.countEvents(descDecisions, z.Denied.Load(), z.Name, api.Denied, "", "", "")
	s.countEvents(descDecisions, z.WouldDeny.Load(), z.Name, api.WouldDeny, "", "", "")
	s.countEvents(descDecisions, z.Overloaded.Load(), z.Name, api.Overloaded, "", "", "")
	rejected, unavailable, overloaded := sum.Rejected.Total(), sum.Unavailable.Total(), z.Overloaded.Load()
	requests := rejected + unavailable + overloaded + sum.Admitted.Total() + sum.Queued.Total() + sum.WouldReject.Total() + sum.Outage.Total()
	s.count(descRequests, requests, z.Name, "")
	s.count(descDeclined, rejected+unavailable+overloaded, z.Name, "")
	s.countEvents(descMissing, z.MissingKeys.Load(), z.Name)
	s.countEvents(descAmbiguous, z.Ambiguous.Load(), z.Name)
	s.countEvents(descCosts, z.InvalidCosts.Load(), z.Name)
	s.countEvents(descUnknownTiers, z.UnknownTiers.Load(), z.Name)
	s.countEvents(descBeforeAuth, z.BeforeAuth.Load(), z.Name)
	if n := z.Unprovided.Load(); n > 0 {
		s.gauge(descUnprovided, float64(n), z.Name)
	}
	if z.Concurrent.Load() {
		s.gauge(descInFlight, float64(z.InFlight.Load()), z.Name)
		s.count(descTooMany, z.ConcurrentRejected.Load(), z.Name)
	}
	if l := z.Adaptive.Load(); l != nil {
		s.gauge(descAdaptiveLimit, float64(l.Limit()), z.Name)
		s.gauge(descAdaptiveInFlight, float64(l.InFlight()), z.Name)
	}
	s.countEvents(descStalled, z.StalledRequests.Load(), z.Name, "request")
	s.countEvents(descStalled, z.StalledResponses.Load(), z.Name, "response")
	s.collectAsked(z)
	s.collectWaits(z)
	s.collectCharges(z)
	s.collectComparisons(z)
	if z.Top.Used() {
		view := z.Top.View(time.Now())
		s.gauge(descHottest, view.Hottest(), z.Name)
	}
	return requests > 0
}

// collectLimits collects the limits in force. Of a zone without requests, it collects only the limit of the
// rest of the zone for keys without a tier, because there may be thousands of such zones.
func (s scrape) collectLimits(limits []usage.LimitInForce, used map[string]bool) {
	for _, l := range limits {
		if !used[l.Zone] && (l.Endpoint != "" || l.Tier != "") {
			continue
		}
		s.gauge(descLimitEvents, float64(l.Events), l.Zone, l.Tier, l.Endpoint)
		if l.Window > 0 {
			s.gauge(descLimitWindow, l.Window.Seconds(), l.Zone, l.Tier, l.Endpoint)
		}
	}
}

// collectDecisions collects what a zone has decided at an endpoint for a tier. At the rest of the zone
// without a tier, the series of requests that the store admits and rejects begin at 0, so that rates are
// right from the first request on.
func (s scrape) collectDecisions(zone string, c *usage.Counters) {
	count := func(n uint64, outcome string, source limiter.Source) {
		if first := c.Endpoint == "" && c.Tier == "" && source == limiter.FromStore; n > 0 ||
			first && (outcome == api.Admitted || outcome == api.Rejected) {
			s.count(descDecisions, n, zone, outcome, source.String(), c.Tier, c.Endpoint)
		}
	}
	for source := range limiter.Source(limiter.Sources) {
		count(c.Admitted[source].Load(), api.Admitted, source)
		count(c.Queued[source].Load(), api.Queued, source)
		count(c.Rejected[source].Load(), api.Rejected, source)
		count(c.Outage[source].Load(), api.Degraded, source)
		count(c.Unavailable[source].Load(), api.Unavailable, source)
		count(c.WouldReject[source].Load(), api.WouldReject, source)
	}
}

func (s scrape) collectCharges(z *usage.ZoneCounters) {
	c := &z.Charges
	if !c.Used.Load() {
		return
	}
	s.count(descCharges, c.Known.Load(), z.Name, "known")
	s.count(descCharges, c.Capped.Load(), z.Name, "capped")
	s.count(descCharges, c.Unknown.Load(), z.Name, "unknown")
	s.count(descCharges, c.Refunded.Load(), z.Name, "refunded")
	s.count(descChargeEvents, c.ReservedEvents.Load(), z.Name, "reserved")
	s.count(descChargeEvents, c.ChargedEvents.Load(), z.Name, "charged")
	s.count(descChargeEvents, c.RefundedEvents.Load(), z.Name, "refunded")
	s.gauge(descChargesOpen, float64(c.Open.Load()), z.Name)
}

func (s scrape) collectComparisons(z *usage.ZoneCounters) {
	c := &z.Comparisons
	if !c.Used.Load() {
		return
	}
	s.count(descComparisons, c.BothAdmit.Load(), z.Name, "admitted", "admitted")
	s.count(descComparisons, c.InForceAdmits.Load(), z.Name, "admitted", "rejected")
	s.count(descComparisons, c.ComparedAdmits.Load(), z.Name, "rejected", "admitted")
	s.count(descComparisons, c.BothReject.Load(), z.Name, "rejected", "rejected")
}

// collectMemory collects the keys at their limit of all zones, and more of the zones that are counted in
// memory.
func (s scrape) collectMemory() {
	for zone, keys := range stores.KeysAtLimit() {
		s.gauge(descAtLimit, float64(keys), zone)
	}
	for _, z := range stores.MemoryZones() {
		stats := z.Stats()
		s.count(descEvictions, stats.Evictions, z.Name())
		s.count(descOverflow, stats.OverflowTakes, z.Name())
		s.gauge(descKeys, float64(stats.Keys), z.Name())
	}
}
