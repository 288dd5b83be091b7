package memstore

import (
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A limitChange says that limits have changed since a sweep. A bucket refills at the rate of its
// newest limit, so one that was last used before the change may be full later than it was to be.
type limitChange struct {
	since limiter.Instant // of the first change
	rules func(id uint32, key []byte) []*limiter.Rule
}

// LimitsChanged tells the zone that the limits of some of its counts changed at now. rules returns
// the rules that a key may have under a rule ID, now and later. A count stays until it is full under
// each of them. rules is called while a shard is locked, until the next change.
func (z *Zone) LimitsChanged(now limiter.Instant, rules func(id uint32, key []byte) []*limiter.Rule) {
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

// prolong has the count in e stay for as long as it matters under the limits in force at now. One
// that was back at its full limit before they changed is as good as a fresh one.
func (c *limitChange) prolong(sh *shard, e *entry, now limiter.Instant) {
	u := e.Value()
	if u.resetAt <= coarseSecondOf(c.since) || limiter.Kind(e.Layout()&kindMask) != limiter.TokenBucket {
		return
	}
	for _, r := range c.rules(e.ID(), sh.Entries.Text(e)) {
		u.resetAt = max(u.resetAt, coarseSecondAfter(countOf(sh, e).peek(r, now, 1).ResetAt))
	}
}
