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
	slots := slices.Collect(inForce.slotsOf(z, tiers))
	// The rest of the zone comes first.
	slices.SortStableFunc(slots, func(a, b *slot) int { return b.at.endpoint - a.at.endpoint })
	for _, s := range slots {
		if s.rule == nil || !s.own || k.endpoint >= 0 && k.endpoint != s.at.endpoint {
			continue
		}
		l := api.OverriddenLimit{Endpoint: s.endpoint, Was: s.rule.limit.String(), Limit: k.applyTo(s.rule).limit.String()}
		if len(tiers) > 1 {
			l.Tier = s.tier
		}
		all = append(all, l)
	}
	return all
}
