package memstore

import (
	"encoding/binary"

	"github.com/fleetlimit/fleetlimit/internal/largest"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// limitMark returns what an entry notes about the limit that its key was last used under.
func limitMark(r *limiter.Rule) uint16 { return uint16(r.LimitID()) }

// Top implements [limiter.Lister]. The use of a key is what it has consumed of its limit. Keys that
// share counts of the overflow are not known.
func (s *Store) Top(now limiter.Instant, q *limiter.TopQuery) []limiter.KeyUse {
	z := s.zoneOf(&limiter.Rule{Zone: q.Zone})
	if z == nil {
		return nil
	}
	top := largest.New[string, limiter.KeyUse](q.Most)
	z.counts.Each(func(sh *shard, e *entry) {
		key := sh.Entries.Text(e)
		r := q.RuleOf(e.ID(), key, func(r *limiter.Rule) bool { return limitMark(r) == e.Mark() })
		if r == nil {
			return
		}
		layout, _ := layoutOf(r.Algorithm)
		if e.Layout() != layout {
			return
		}
		state := countOf(sh, e).count().Inspect(r, now)
		use := float64(state.Consumed)
		if use == 0 || !top.Fits(use) {
			return
		}
		found := limiter.KeyUse{Rule: r, Key: append([]byte(nil), key...), Use: use, At: state.At}
		if state.RetryAt > state.At {
			found.RetryAt = state.RetryAt
		}
		top.Add(string(binary.BigEndian.AppendUint32(found.Key[:len(key):len(key)], e.ID())), use, found)
	})
	return top.Sorted()
}
