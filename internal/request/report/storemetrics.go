package report

import (
	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
	"github.com/fleetlimit/fleetlimit/internal/fleet/stores"
)

var (
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
	descLookup = desc("redis_lookup_failing", "Whether the primaries of Redis cannot be looked up, as no Sentinel or no "+
		"node of the cluster answers: 1, else 0.", "store")
	descMismatched = desc("mismatched_zones", "Zones that other nodes define differently.", "store")
	descDiffering  = desc("differing_nodes", "Nodes that define the zone differently; only for zones that some do.", "store",
		"zone")
	descSentinels = desc("sentinels_reachable", "Sentinels that have answered the last question for the primary; only for "+
		"stores with Sentinels.", "store")
	descNodes = desc("nodes", "Nodes of the fleet, including this one.", "store")
)

// collectStores collects the stores in Redis.
func (s scrape) collectStores() {
	for _, state := range stores.States() {
		s.collectStore(&state)
	}
}

func (s scrape) collectStore(store *stores.State) {
	name, n := store.Name, &store.Leases
	s.count(descStoreRequests, n.Requests, name)
	s.count(descForeign, store.Foreign, name)
	s.count(descLeases, n.Granted, name, "granted")
	s.count(descLeases, n.Returned, name, "returned")
	s.count(descLeases, n.Expired, name, "expired")
	s.count(descLeases, n.Lost, name, "lost")
	s.count(descOutage, n.Debt, name, "admitted")
	s.count(descOutage, n.DebtSettled, name, "settled")
	s.count(descOutage, n.DebtDropped, name, "dropped")
	s.gauge(descOutageDebt, float64(n.OutageDebt()), name)
	s.gauge(descAccounts, float64(n.Accounts), name)
	s.gauge(descNodes, float64(store.Nodes), name)
	differing := differingNodes(store.Mismatches)
	s.gauge(descMismatched, float64(len(differing)), name)
	for zone, nodes := range differing {
		s.gauge(descDiffering, float64(nodes), name, zone)
	}
	if store.Sentinels >= 0 {
		s.gauge(descSentinels, float64(store.Sentinels), name)
	}
	s.gauge(descLookup, number(store.LookupErr != nil), name)
	for i := range store.Primaries {
		s.collectPrimary(name, &store.Primaries[i])
	}
}

// differingNodes returns how many nodes define each zone differently.
func differingNodes(mismatches []membership.Mismatch) map[string]int {
	nodes := make(map[string]int)
	for _, m := range mismatches {
		nodes[m.Zone] += m.Nodes
	}
	return nodes
}
