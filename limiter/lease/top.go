package lease

import (
	"encoding/binary"

	"github.com/fleetlimit/fleetlimit/internal/largest"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// Top implements [limiter.Lister]. The use of a key is the demand of its account: the events per
// second that takes on this node have spent or requested lately. Denials that the node repeats by
// itself do not count. What other nodes do is not known, and keys without an account are not.
//
// now must be an instant of Options.Clock. Demand is measured over twice the time that a lease
// lasts, under strict rules too.
func (s *Store) Top(now limiter.Instant, q *limiter.TopQuery) []limiter.KeyUse {
	z := s.zoneOf(&limiter.Rule{Zone: q.Zone})
	if z == nil {
		return nil
	}
	at, top := fromCaller(now), largest.New[string, limiter.KeyUse](q.Most)
	z.accounts.Each(func(sh *shard, e *entry) {
		key := sh.Entries.Text(e)
		a := accountOf(sh, e)
		r := q.RuleOf(e.ID(), key, a.appliesTo)
		if r == nil {
			return
		}
		use := a.demandPerSecond(r, at)
		if use < leastDemand || !top.Fits(use) {
			return
		}
		found := limiter.KeyUse{Rule: r, Key: append([]byte(nil), key...), Use: use, At: now}
		if a.denied && a.appliesTo(r) && a.retryAt > at {
			found.RetryAt = a.retryAt.forCaller()
		}
		top.Add(string(binary.BigEndian.AppendUint32(found.Key[:len(key):len(key)], e.ID())), use, found)
	})
	return top.Sorted()
}

// leastDemand is the least demand that counts as use. It never falls to 0.
const leastDemand = 0.01
