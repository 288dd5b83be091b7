package memstore

import (
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A limitChange records that limits have changed since the last sweep. A bucket refills at the rate
// of its newest limit. So a bucket that was last used before the change may be full later than its
// usage says.
type limitChange struct {
	since limiter.Instant // instant of the first change
	rules func(id uint32, key []byte) []*limiter.Rule
}

// LimitsChanged tells the zone that the limits of some of its counts changed at now. rules returns
// the rules that a key may have under a rule ID, now and later. A count stays until it is full
// under each of them. The next sweep calls rules while a shard is locked, unless LimitsChanged is
// called again before.
func (z *Counts) LimitsChanged(now limiter.Instant, rules func(id uint32, key []byte) []*limiter.Rule) {
	if z.counts.Len() == 0 {
		return
	}
	next := &limitChange{now, rules}
	for {
		last := z.changed.Load()
		if last != nil {
			next.since = min(now, last.since)
		}
		if z.changed.CompareAndSwap(last, next) {
			return
		}
	}
}

// prolong makes the bucket in e stay until it is full under each rule that its key may have. It
// does nothing for a bucket that was full before the change, which is as good as a fresh one.
func (c *limitChange) prolong(sh *shard, e *entry, now limiter.Instant) {
	u := e.Value()
	if u.resetAt <= coarseSecondOf(c.since) || limiter.Kind(e.Layout()&kindMask) != limiter.TokenBucket {
		return
	}
	for _, r := range c.rules(e.ID(), sh.Entries.Text(e)) {
		u.resetAt = max(u.resetAt, coarseSecondAfter(countOf(sh, e).peek(r, now, 1).ResetAt))
	}
}
