package zone

import (
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A keeper is a zone of a store that keeps each count until it is full under the limits that it is
// told of.
type keeper interface {
	LimitsChanged(now limiter.Instant, rules func(id uint32, key []byte) []*limiter.Rule)
}

// TellStore tells the store for how long counts matter, in the zones whose rules differ from those of
// earlier, or in all zones if earlier is nil. It has an effect on counts in memory; counts in Redis expire
// by limiter.Rule.KeepFor. TellStore also tells metrics and later configurations which adaptive limit is in
// force.
func (s *Snapshot) TellStore(earlier *Snapshot, now time.Time) {
	kept := make(map[keeper]*keptRules) // zones of one name share their counts
	changed := make(map[keeper]bool)
	for _, z := range s.set.All() {
		z.Usage.Adaptive.Store(z.Adaptive)
		k, ok := z.Handle().(keeper)
		if !ok {
			continue
		}
		if kept[k] == nil {
			kept[k] = &keptRules{snapshot: s, now: now}
		}
		kept[k].zones = append(kept[k].zones, z)
		changed[k] = changed[k] || earlier == nil || earlier.set != s.set || earlier.rulesFor(z) != s.rulesFor(z)
	}
	for k := range kept {
		if changed[k] {
			k.LimitsChanged(limiter.At(now), kept[k].rulesFor)
		}
	}
}

// keptRules are the rules of the zones of one name. Only one goroutine uses them.
type keptRules struct {
	snapshot *Snapshot
	zones    []*Zone
	now      time.Time
	byID     map[uint32][]*rule // nil before the first use
}

// rulesFor returns the rules that a key may have under the ID of a count, whichever tier it has.
func (k *keptRules) rulesFor(id uint32, key []byte) (all []*limiter.Rule) {
	if k.byID == nil {
		k.index()
	}
	for _, r := range k.byID[id] {
		if r.Rule != nil {
			all = append(all, r.Rule)
		}
	}
	for _, z := range k.zones {
		entries := k.snapshot.rulesFor(z).keys.find(key)
		if entries == nil {
			continue
		}
		for i := range entries.overrides {
			o := &entries.overrides[i]
			if !o.inForce(k.now) || !o.value.changesRate() {
				continue
			}
			for _, r := range k.byID[id] {
				if changed := o.value.applyTo(r); changed.Rule != nil {
					all = append(all, changed.Rule)
				}
			}
		}
	}
	return all
}

// index finds the rules of each ID.
func (k *keptRules) index() {
	k.byID = make(map[uint32][]*rule)
	for _, z := range k.zones {
		c := k.snapshot.rulesFor(z)
		for _, endpoints := range [][]endpointRules{c.endpoints, c.compared.all()} {
			for i := range endpoints {
				for _, r := range endpoints[i].all() {
					if known := k.byID[r.compiled.ID]; !slices.Contains(known, r) {
						k.byID[r.compiled.ID] = append(known, r)
					}
				}
			}
		}
	}
}
