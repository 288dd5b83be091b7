package stores

import (
	"cmp"
	"slices"

	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/limiter/memstore"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// A State is what this node knows of the stores in Redis that have one name: of one store, or while
// it is reloaded of two.
type State struct {
	Name       string
	Leases     lease.Stats
	Foreign    uint64 // values in Redis that this plugin cannot have written
	Nodes      int
	Mismatches []membership.Mismatch
	Primaries  []redisconn.Primary
	LookupErr  error // why the primaries cannot be looked up
	Sentinels  int   // that answer; -1: none are asked
}

// States returns the states of all stores in Redis, by name. It asks no Redis.
func States() (all []State) {
	for _, s := range stores.All() {
		if r := s.redis; r != nil {
			all = append(all, State{
				s.name, r.leases.Stats(), r.counts.Foreign(), r.node.Nodes(), r.node.Mismatches(), r.client.Primaries(),
				r.client.LookupErr(), sentinelsOf(r.client),
			})
		}
	}
	slices.SortFunc(all, func(a, b State) int { return cmp.Compare(a.Name, b.Name) })
	return merged(all)
}

func sentinelsOf(client *redisconn.Client) int {
	if n, asked := client.Sentinels(); asked {
		return n
	}
	return -1
}

// merged returns one state for each name. What stores have done is summed. Of what they see of the
// same fleet and the same primaries, it has the worst: they may log in differently.
func merged(sorted []State) (all []State) {
	for _, s := range sorted {
		if len(all) == 0 || all[len(all)-1].Name != s.Name {
			all = append(all, s)
			continue
		}
		m := &all[len(all)-1]
		m.Leases, m.Foreign, m.Nodes = m.Leases.Plus(s.Leases), m.Foreign+s.Foreign, max(m.Nodes, s.Nodes)
		m.Mismatches = slices.Concat(m.Mismatches, s.Mismatches)
		m.Primaries = worst(slices.Concat(m.Primaries, s.Primaries))
		m.LookupErr = cmp.Or(m.LookupErr, s.LookupErr)
		m.Sentinels = min(m.Sentinels, s.Sentinels)
	}
	return all
}

// worst returns one primary for each address: with the breaker that is open, or else that of the
// slowest, and all errors.
func worst(primaries []redisconn.Primary) (all []redisconn.Primary) {
	slices.SortFunc(primaries, func(a, b redisconn.Primary) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(b.State, a.State), cmp.Compare(b.Latency, a.Latency))
	})
	for _, p := range primaries {
		if len(all) == 0 || all[len(all)-1].Addr != p.Addr {
			all = append(all, p)
			continue
		}
		same := &all[len(all)-1]
		same.Server = cmp.Or(same.Server, p.Server)
		for kind, n := range p.Errors {
			same.Errors[kind] += n
		}
	}
	return all
}

// KeysAtLimit returns how many keys of each zone are at their limit, as far as this node knows.
func KeysAtLimit() map[string]int {
	keys := make(map[string]int)
	for _, z := range zones.All() {
		keys[z.Name()] += z.KeysAtLimit()
	}
	return keys
}

// MemoryZones returns the zones that are counted in memory.
func MemoryZones() (all []*memstore.Zone) {
	for _, z := range zones.All() {
		if z, inMemory := z.(*memstore.Zone); inMemory {
			all = append(all, z)
		}
	}
	return all
}
