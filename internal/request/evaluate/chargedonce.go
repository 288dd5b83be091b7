package evaluate

import (
	"hash/maphash"

	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A chargedCount is what a request has been charged to one count. A request may pass a zone several
// times, in several handlers, and is charged to each count once: a later pass that costs more is
// charged the difference.
type chargedCount struct {
	rule uint32 // its ID
	key  uint64 // its hash: the bytes are in a buffer that the next handler uses
	cost int64
}

// chargeSeed hides which keys have the same hash.
var chargeSeed = maphash.MakeSeed()

// charged returns what the request has been charged before for the count of a key. Zones in the
// syntax of caddy-ratelimit charge each pass, as they do there.
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
