package inspect

import (
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A KeyCount is a count of a key with the rule that is in force for it.
type KeyCount struct {
	Key  []byte        // as requests have it
	Rule *limiter.Rule // of the count, even if the rule in force is "block" or "unlimited"
}

// CountsOf returns the counts of a key at an endpoint, or in the whole zone if that is "". A place
// has one count of the key, or with a comparison two.
func CountsOf(s *zone.Snapshot, k *KeyRef, endpoint string) (counts []KeyCount, err error) {
	z := s.Set().Named(k.Zone)
	if z == nil {
		return nil, s.Set().NoZone(k.Zone)
	}
	keys, err := k.resolve(z)
	if err != nil {
		return nil, err
	}
	i := inspector{snapshot: s, zone: z, key: k.Key, now: time.Now()}
	add := func(slot *zone.Slot, key []byte) {
		if r := slot.CountFor(key, i.now); r != nil {
			counts = append(counts, KeyCount{Key: key, Rule: r})
		}
	}
	for _, key := range keys {
		i.setKeys([][]byte{key})
		for _, slot := range i.slots(i.likelyTier()) {
			if !slot.Own || endpoint != "" && slot.Endpoint != endpoint {
				continue
			}
			add(&slot, key)
			if slot.Compared != nil {
				add(slot.Compared, key)
			}
		}
	}
	if len(counts) == 0 {
		err = fmt.Errorf("zone %q has no count of the key there: use one of the endpoints %q that has a limit of its own, or "+
			"none", k.Zone, s.Set().Endpoints(k.Zone))
	}
	return counts, err
}

// likelyTier returns what decides the tier of the key, as far as that is known without a request.
func (i *inspector) likelyTier() *api.DecidedBy {
	by, _ := i.tier("") // the error is about a name
	if by == nil || by.Source != api.FromPlaceholder {
		return by
	}
	if _, fallback := i.zone.TierNames(); fallback != "" {
		return &api.DecidedBy{Name: fallback, Source: api.FromDefault}
	}
	return nil
}
