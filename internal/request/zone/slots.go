package zone

import (
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// A Slot is where a zone may have limits: an endpoint, for a tier or for requests without a key.
type Slot struct {
	Place    int    // the index of the endpoint in the settings; that after the last is the rest of the zone
	Endpoint string // its method and path; "" for the rest of the zone
	Tier     string // "" for keys without a tier, and for requests without a key
	Missing  bool   // the slot is for requests without a key

	// Limit is the limit of the rate, whatever overrides keys have. It is nil if there is none.
	Limit     *response.Policy
	Written   *config.Limit     // Limit, as operators write it; nil if there is none
	Algorithm limiter.Algorithm // of Limit, even if that counts nothing
	Own       bool              // the count is that of the endpoint, and not that of the rest of the zone

	Concurrent *response.Policy         // the limit of requests at once; nil if there is none
	Compared   *Slot                    // the same slot with the limit that is compared; nil if there is none
	Cost       *keytemplate.Placeholder // of what requests cost; nil if that is fixed

	at        placement
	zone      *Zone
	inForce   *zoneRules
	endpoints []endpointRules // those of inForce, or of its comparison
	keys      KeyShare        // for which the slot has limits
}

// Slots returns the slots of z under the rules of s: at each endpoint one for each tier that keys
// can have, and one for requests without a key if the zone has a limit for them. The last endpoint
// is the rest of the zone. What operators see of limits, counts and plans is a selection of slots.
func (s *Snapshot) Slots(z *Zone) []Slot { return s.rulesFor(z).slots(z) }

// Slots returns the slots of z under its configuration alone.
func (z *Zone) Slots() []Slot { return z.configured.slots(z) }

func (c *zoneRules) slots(z *Zone) (all []Slot) {
	tiers := z.tiers.all()
	if z.missing.limited {
		tiers = append(tiers, withoutKey)
	}
	all = make([]Slot, 0, len(c.endpoints)*len(tiers))
	for place := range c.endpoints {
		e := &c.endpoints[place]
		for _, tier := range tiers {
			s := Slot{
				Place: place, Endpoint: e.name(), Tier: z.tiers.name(tier), Missing: tier == withoutKey, Cost: e.cost.placeholder,
				at: placement{endpoint: place, tier: tier}, zone: z, inForce: c, endpoints: c.endpoints, keys: KeyShare{all: true},
			}
			s.Concurrent, _ = s.ConcurrentFor(nil, time.Time{})
			if c.compared != nil {
				compared := s
				compared.endpoints, compared.keys = c.compared.endpoints, c.compared.keys
				if compared.setLimit(); compared.Limit != nil {
					s.Compared = &compared
				}
			}
			s.setLimit()
			all = append(all, s)
		}
	}
	return all
}

// setLimit sets the limit of s to that of its endpoints.
func (s *Slot) setLimit() {
	r := s.at.configured(s.endpoints)
	if s.Own = s.inForce.countedAt(s.Place, r) == s.Place; r != nil {
		s.Limit, s.Written, s.Algorithm = &r.Policy, &r.limit, r.compiled.Algorithm
	}
}

// ruleFor returns the rule of a key, as requests have it, with its override. It returns nil if
// there is none.
func (s *Slot) ruleFor(key []byte, now time.Time) *rule {
	if !s.keys.Includes(key) {
		return nil
	}
	at := s.at
	at.findOverride(s.inForce, s.inForce.keys.find(key), now)
	return at.rule(s.endpoints)
}

// LimitFor returns the limit of the rate of a key, as requests have it, with its override. It
// returns nil if there is none.
func (s *Slot) LimitFor(key []byte, now time.Time) *response.Policy {
	if r := s.ruleFor(key, now); r != nil {
		return &r.Policy
	}
	return nil
}

// LimitWith returns what an override makes of the limit of the rate. It returns nil if the override
// does not fit the zone, or does not change the limit.
func (s *Slot) LimitWith(o *rules.Override) *response.Policy {
	rules := &zoneRules{endpoints: s.endpoints, overrides: make(map[overrideText]*override)}
	k, err := rules.override(s.zone, nil, o)
	r := s.at.configured(s.endpoints)
	if err != nil || r == nil || !k.changesRate() || k.endpoint >= 0 && k.endpoint != s.Place {
		return nil
	}
	return &k.applyTo(r).Policy
}

// CountFor returns the rule of the count of a key, as requests have it. If the limit of the key
// counts nothing, it is the rule of another tier with the same count. It returns nil if there is
// none.
func (s *Slot) CountFor(key []byte, now time.Time) *limiter.Rule {
	r := s.ruleFor(key, now)
	switch {
	case r == nil:
		return nil
	case r.Rule != nil:
		return r.Rule
	}
	all := s.endpoints[s.Place].all()
	if i := slices.IndexFunc(all, func(other *rule) bool { return other.Rule != nil && other.CountID == r.CountID }); i >= 0 {
		return all[i].Rule
	}
	return nil
}

// ConcurrentFor returns the limit of requests at once of a key, as requests have it, and the
// override that it is from. Both are nil if there is none.
func (s *Slot) ConcurrentFor(key []byte, now time.Time) (*response.Policy, *rules.Entry) {
	policy, by := s.zone.concurrentAt(s.inForce, s.inForce.keys.find(key), now, s.Place, s.at.tier)
	if by == nil {
		return policy, nil
	}
	return policy, by.from
}

// CountsInRest reports whether requests at once under a limit of the slot are counted in the rest
// of the zone, of which the slot is not.
func (s *Slot) CountsInRest(concurrent *response.Policy) bool {
	last := len(s.endpoints) - 1
	return s.Place != last && concurrent.Concurrent.ID == s.endpoints[last].inFlightID
}
