package zone

import "iter"

// A slot is where a zone may have a limit: an endpoint, for a tier or for requests without a key.
type slot struct {
	at             placement
	rule           *rule // that of the slot, whatever overrides keys have; nil if there is none
	own            bool  // its count is that of the endpoint, and not that of the rest of the zone
	endpoint, tier string
	missing        bool // it is for requests without a key
}

// slots yields the slots of z: at each endpoint one for each tier that keys can have, and one for
// requests without a key if the zone has a limit for them. What operators see of limits, counts and
// plans is a selection of slots.
func (c *zoneRules) slots(z *Zone) iter.Seq[*slot] {
	tiers := z.tiers.all()
	if z.missing.limited {
		tiers = append(tiers, withoutKey)
	}
	return c.slotsOf(z, tiers)
}

// slotsOf yields the slots of some tiers of z, of which one may be withoutKey.
func (c *zoneRules) slotsOf(z *Zone, tiers []int) iter.Seq[*slot] {
	return func(yield func(*slot) bool) {
		for place := range c.endpoints {
			endpoint := c.endpoints[place].name()
			for _, tier := range tiers {
				s := slot{
					at: placement{endpoint: place, tier: tier}, endpoint: endpoint, tier: z.tiers.name(tier), missing: tier == withoutKey,
				}
				s.rule = s.at.configured(c.endpoints)
				s.own = c.countedAt(place, s.rule) == place
				if !yield(&s) {
					return
				}
			}
		}
	}
}
