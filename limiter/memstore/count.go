package memstore

import (
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/keyed"
)

// spilledLayout is set in the layouts of counts that do not fit into an entry: logs, and sliding
// windows of more than 18 sub-windows. The entry of such a count has only the number of the spilled
// count.
const spilledLayout = 1 << 15

// The lowest bits of a layout are the limiter.Kind of the count.
const (
	kindBits = 3
	kindMask = 1<<kindBits - 1
)

// layoutOf returns the layout of an entry under a, and how many numbers the entry has. The layout
// differs for each algorithm and number of sub-windows, so that no count is ever read as a count of
// another algorithm.
func layoutOf(a limiter.Algorithm) (layout uint16, numbers int) {
	layout = uint16(a.Kind) | uint16(a.SubWindows)<<kindBits
	if n := a.StateSize(); n > 0 && n <= keyed.MaxNumbers {
		return layout, n
	}
	return layout | spilledLayout, 1
}

// A countRef is the count of one key. It is valid while its shard is locked and no entry is added.
type countRef struct {
	*entry                // nil if the key has no entry
	spilled limiter.Count // the count; nil if the numbers of the entry are the count
}

// fresh returns the count of a key without an entry.
func fresh(r *limiter.Rule) countRef { return countRef{spilled: limiter.NewCount(r.Algorithm)} }

// findLocked returns the count of k in its shard sh.
func findLocked(sh *shard, k *keyed.Key) (c countRef) {
	e, _ := sh.Entries.Find(k)
	if e == nil {
		return c
	}
	return countOf(sh, e)
}

// countOf returns the count in an entry of the shard sh.
func countOf(sh *shard, e *entry) countRef {
	c := countRef{entry: e}
	if e.Layout()&spilledLayout != 0 {
		c.spilled = sh.State.At(e.Numbers()[0])
	}
	return c
}

// spillLocked gives a new entry under the algorithm a its spilled count, if its layout has one.
func spillLocked(sh *shard, e *entry, a limiter.Algorithm) {
	if e.Layout()&spilledLayout != 0 {
		e.Numbers()[0] = sh.State.Put(limiter.NewCount(a))
	}
}

// dropSpilledLocked drops the spilled count of an entry that is removed.
func dropSpilledLocked(sh *shard, e *entry) {
	if e.Layout()&spilledLayout != 0 {
		sh.State.Drop(e.Numbers()[0])
	}
}

// take decides k at now and consumes its cost if that is allowed.
func (c countRef) take(k *limiter.Take, now limiter.Instant) {
	switch s, bucket := c.bucketFor(k); {
	case bucket:
		k.Decision = s.TakeWaiting(k.Rule, now, k.Cost, k.Wait)
	case c.spilled != nil:
		k.Decision = c.spilled.Take(k.Rule, now, k.Cost)
	default:
		k.Decision = limiter.State(c.Numbers()).Take(k.Rule, now, k.Cost)
	}
}

// bucketFor returns the count as a bucket that may promise k a turn, and reports whether it is one.
func (c countRef) bucketFor(k *limiter.Take) (s limiter.State, ok bool) {
	if k.Wait <= 0 || !k.Rule.Algorithm.Kind.Promises() {
		return nil, false
	}
	if c.spilled == nil {
		return limiter.State(c.Numbers()), true
	}
	s, ok = c.spilled.(limiter.State) // a fresh count
	return s, ok
}

// peekTake returns the decision that k would get at now.
func (c countRef) peekTake(k *limiter.Take, now limiter.Instant) limiter.Decision {
	if s, bucket := c.bucketFor(k); bucket {
		return s.PeekWaiting(k.Rule, now, k.Cost, k.Wait)
	}
	return c.peek(k.Rule, now, k.Cost)
}

// peek returns the decision on a take of cost at now.
func (c countRef) peek(r *limiter.Rule, now limiter.Instant, cost int64) limiter.Decision {
	if c.spilled != nil {
		return c.spilled.Peek(r, now, cost)
	}
	return limiter.State(c.Numbers()).Peek(r, now, cost)
}

// follow moves the count into the windows of r at now.
func (c countRef) follow(r *limiter.Rule, now limiter.Instant) {
	if c.spilled != nil {
		c.spilled.Follow(r, now)
	} else {
		limiter.State(c.Numbers()).Follow(r, now)
	}
}

// refund gives back what k consumed.
func (c countRef) refund(k *limiter.Take, now limiter.Instant) {
	if k.Decision.Turn != 0 {
		c.giveBack(k, now)
		return
	}
	if c.spilled != nil {
		c.spilled.Refund(k.Rule, now, k.Decision.Seen(), k.Cost)
	} else {
		limiter.State(c.Numbers()).Refund(k.Rule, now, k.Decision.Seen(), k.Cost)
	}
}

// giveBack gives back what k was promised, and reports false if that is lost.
func (c countRef) giveBack(k *limiter.Take, now limiter.Instant) bool {
	s, bucket := c.bucketFor(k)
	return bucket && s.GiveBack(k.Rule, now, k.Decision.Turn, k.Cost)
}

// record updates the usage of the key after the decision on k, and marks the first denial in a
// window.
func (c countRef) record(k *limiter.Take, now limiter.Instant) {
	d, u := &k.Decision, c.Value()
	u.idleSince, u.resetAt = now, coarseSecondAfter(keptUntil(k.Rule, d))
	switch {
	case d.Remaining > 0:
	case !d.OK && k.Cost == 1:
		u.idleSince = d.RetryAt
	default:
		u.idleSince = c.peek(k.Rule, now, 1).RetryAt
	}
	if !d.OK {
		d.Breach = u.breach(limiter.Instant(k.Rule.Limit.Window/time.Microsecond), now)
	}
}

// noteUse updates the usage of the key after its count has changed without a decision.
func (c countRef) noteUse(r *limiter.Rule, now limiter.Instant) {
	d, u := c.peek(r, now, 1), c.Value()
	u.idleSince, u.resetAt = d.RetryAt, coarseSecondAfter(keptUntil(r, &d))
}

// keptUntil returns the instant until which a count is kept after the decision d on it: until it
// equals a fresh count, or for Rule.KeepFor if that is longer.
func keptUntil(r *limiter.Rule, d *limiter.Decision) limiter.Instant {
	if r.KeepFor > 0 && d.ResetAt > d.At {
		return max(d.ResetAt, d.At+limiter.Instant(r.KeepFor/time.Microsecond))
	}
	return d.ResetAt
}

// count returns the count itself.
func (c countRef) count() limiter.Count {
	if c.spilled != nil {
		return c.spilled
	}
	return limiter.State(c.Numbers())
}
