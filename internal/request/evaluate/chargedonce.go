package evaluate

import (
	"hash/maphash"

	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A chargedCount is what a request has been charged to one count. A request may pass a zone several times, in
// several handlers, and is charged to each count once: a later pass that costs more is charged the
// difference.
type chargedCount struct {
	rule uint32 // the ID of the rule
	key  uint64 // the hash of the key, whose buffer the next handler uses again
	cost int64
}

// chargeSeed keeps clients from finding keys with the same hash.
var chargeSeed = maphash.MakeSeed()

// charged returns how much the request has been charged before to the count of a key. It returns 0 for zones
// in the syntax of caddy-ratelimit, which charge each pass, as caddy-ratelimit does.
func (e *Evaluation) charged(z *zone.Zone, r *limiter.Rule, key []byte) (cost int64) {
	if len(e.state.charges) == 0 || z.Legacy {
		return 0
	}
	hash := maphash.Bytes(chargeSeed, key)
	for _, c := range e.state.charges {
		if c.rule == r.ID && c.key == hash {
			cost += c.cost
		}
	}
	return cost
}

// addCharge remembers a take that has consumed its cost.
func (s *requestState) addCharge(t *limiter.Take) {
	s.charges = append(s.charges, chargedCount{t.Rule.ID, maphash.Bytes(chargeSeed, t.Key), t.Cost})
}
