package inspect

import (
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/rules"
)

// Overridden returns the limits that the key of an override has with it, at each place and for each
// tier that it may have, and what they are without it. It returns none if the override does not
// fit.
func Overridden(s *zone.Snapshot, o *rules.Override) (all []api.OverriddenLimit) {
	z := s.Set().Named(o.Zone)
	if z == nil {
		return nil
	}
	keys, err := z.KeysOf(&o.Key)
	if err != nil {
		return nil
	}
	i := inspector{snapshot: s, zone: z, now: time.Now(), key: o.Key}
	i.setKeys(keys)
	by, _ := i.tier("") // the error is about a name
	slots := i.slots(by)
	severalTiers := len(slots) > 1 && slots[0].Place == slots[1].Place
	// The rest of the zone comes first.
	slices.SortStableFunc(slots, func(a, b zone.Slot) int { return b.Place - a.Place })
	for _, s := range slots {
		limit := s.LimitWith(o)
		if limit == nil || !s.Own {
			continue
		}
		l := api.OverriddenLimit{Endpoint: s.Endpoint, Was: s.Limit.LimitText(), Limit: limit.LimitText()}
		if severalTiers {
			l.Tier = s.Tier
		}
		all = append(all, l)
	}
	return all
}
