package zone

import (
	"github.com/fleetlimit/fleetlimit/internal/request/response"
)

// A PlacedLimit is a limit of a zone, and where it is in force.
type PlacedLimit struct {
	Endpoint, Tier string
	Missing        bool // it is of requests without a key
	Policy         *response.Policy
	Text           string // of the limit
}

// PlacedLimits returns the limits of a zone that count or block requests. Those of requests at once
// are not among them.
func (s *Snapshot) PlacedLimits(name string) (all []PlacedLimit) {
	z, inForce := s.rulesOf(name)
	for s := range inForce.slots(z) {
		if r := s.rule; s.own && r.limits() {
			all = append(all, PlacedLimit{
				Endpoint: s.endpoint, Tier: s.tier, Missing: s.missing, Policy: &r.Policy, Text: r.limit.String(),
			})
		}
	}
	return all
}

// Where returns the endpoint and the tier of the request that a charge is about.
func (c *Charge) Where() (endpoint, tier string) { return c.counters.Endpoint, c.counters.Tier }

// KeyName returns how operators write a key of a request. "" is that of clients without an address,
// or of a key that is only known as a digest.
func (z *Zone) KeyName(key []byte) string {
	name, _ := z.nameOf(key)
	if name.Text == "" {
		return name.Base64
	}
	return name.Text
}
