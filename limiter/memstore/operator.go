package memstore

import (
	"context"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/keyed"
)

// Inspect implements [limiter.Operator]. A key that found no room has no count of its own. It is
// inspected as a fresh one, and operators do not change the count that it shares with other keys.
func (s *Store) Inspect(_ context.Context, now limiter.Instant, r *limiter.Rule, key []byte) (i limiter.Inspection, _ error) {
	s.withCount(r, key, func(_ *Counts, _ *shard, c countRef) { i.Count = c.count().Inspect(r, now) })
	return i, nil
}

// Reset implements [limiter.Operator]. After it, no take of the zone from before the reset is
// refunded.
func (s *Store) Reset(_ context.Context, now limiter.Instant, r *limiter.Rule, key []byte) error {
	s.withCount(r, key, func(z *Counts, sh *shard, c countRef) {
		if z == nil {
			return
		}
		z.noteReset(c.count().Inspect(r, now).At)
		if c.entry != nil {
			dropSpilledLocked(sh, c.entry)
			z.counts.RemoveLocked(sh, c.entry)
		}
	})
	return nil
}

// noteReset notes that a key was reset at the instant at. The latest reset counts, unless the clock
// was set back since.
func (z *Counts) noteReset(at limiter.Instant) {
	for {
		last := z.lastReset.Load()
		newer := limiter.Instant(last) < at || limiter.Instant(last) > at+limiter.LateReading
		if !newer || z.lastReset.CompareAndSwap(last, int64(at)) {
			return
		}
	}
}

// wasReset reports whether a key of the zone was reset after the instant taken. An instant from
// before the clock was set back does not count.
func (z *Counts) wasReset(taken, now limiter.Instant) bool {
	last := limiter.Instant(z.lastReset.Load())
	return taken <= last && last <= now+limiter.LateReading
}

// AddQuota implements [limiter.Operator].
func (s *Store) AddQuota(
	_ context.Context, now limiter.Instant, r *limiter.Rule, key []byte, events int64,
) (state limiter.CountState, _ error) {
	s.withCount(r, key, func(_ *Counts, _ *shard, c countRef) {
		c.count().AddQuota(r, now, events)
		state = c.count().Inspect(r, now)
		if c.entry != nil {
			c.noteUse(r, now)
		}
	})
	return state, nil
}

// withCount calls do with the count of key under r, or with a fresh count if the key has none.
func (s *Store) withCount(r *limiter.Rule, key []byte, do func(*Counts, *shard, countRef)) {
	z := s.zoneOf(r)
	if z == nil {
		do(nil, nil, fresh(r))
		return
	}
	var k keyed.Key
	sh := z.locate(&k, &limiter.Take{Rule: r, Key: key})
	sh.Lock()
	defer sh.Unlock()
	c := findLocked(sh, &k)
	if c.entry == nil {
		c = fresh(r)
	}
	do(z, sh, c)
}
