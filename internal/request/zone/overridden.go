package zone

import (
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/rules"
)

// Overridden returns the limits that the key of an override has with it, at each place and for each
// tier that it may have, and what they are without it. It returns none if the override does not fit.
func (s *Snapshot) Overridden(o *rules.Override) (all []api.OverriddenLimit) {
	z := s.set.named(o.Zone)
	if z == nil {
		return nil
	}
	inForce := &zoneRules{endpoints: s.rulesFor(z).endpoints, overrides: make(map[overrideText]*override)}
	k, err := inForce.override(z, nil, o)
	keys, unknown := z.keysOf(&o.Key)
	if err != nil || unknown != nil || !k.changesRate() {
		return nil
	}
	i := inspector{snapshot: s, zone: z, config: z.builder.zone, now: time.Now(), key: o.Key}
	i.setKeys(keys)
	by, err := i.tier("")
	if err != nil {
		return nil
	}
	tiers := i.possibleTiers(by)
	for place := range slices.Backward(inForce.endpoints) { // the rest of the zone comes first
		if k.endpoint >= 0 && k.endpoint != place {
			continue
		}
		for _, tier := range tiers {
			at := placement{endpoint: place, tier: tier}
			r := at.configured(inForce.endpoints)
			if r == nil || inForce.countedAt(place, r) != place {
				continue
			}
			l := api.OverriddenLimit{
				Endpoint: inForce.endpoints[place].name(), Was: r.limit.String(), Limit: k.applyTo(r).limit.String(),
			}
			if len(tiers) > 1 {
				l.Tier = z.tiers.name(tier)
			}
			all = append(all, l)
		}
	}
	return all
}
