package stores

import (
	"cmp"
	"slices"

	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/limiter/memstore"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// A State describes the stores in Redis that have one name, as this node sees them. There are two such
// stores while a reload replaces one by the other.
type State struct {
	Name       string
	Leases     lease.Stats
	Foreign    uint64 // number of values in Redis that this plugin cannot have written
	Nodes      int
	Mismatches []membership.Mismatch
	Primaries  []redisconn.Primary
	LookupErr  error // why the primaries cannot be looked up; nil if they can
	Sentinels  int   // number of sentinels that answer; -1 if no sentinels are asked
}

// States returns the states of all stores in Redis, ordered by name. It does not ask Redis.
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

// merged returns one state for each name. Two stores with one name have the same fleet and primaries,
// but may log in differently. Their state has the sum of what both have done, and the worse of what
// each of them sees.
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

// worst returns one primary for each address: the one whose breaker is in the worse state, or of equal
// states the slower one. It sums the errors.
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

// KeysAtLimit returns the number of keys at their limit, as far as this node knows, by the name of the
// zone.
func KeysAtLimit() map[string]int {
	keys := make(map[string]int)
	for _, z := range zones.All() {
		keys[z.Name()] += z.KeysAtLimit()
	}
	return keys
}

// MemoryZones returns the zones that have counts in memory.
func MemoryZones() (all []*memstore.Counts) {
	for _, z := range zones.All() {
		if z, inMemory := z.(*memstore.Counts); inMemory {
			all = append(all, z)
		}
	}
	return all
}
