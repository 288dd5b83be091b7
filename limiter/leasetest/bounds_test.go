package leasetest

import (
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// checkBound checks that no span of what was admitted to a key holds more than its algorithm
// promises, and what failovers have made the store forget. What was refunded does not count.
//
// A reset begins anew. The parts of a bucket stay, and count against what it has from then on. What
// was leased of a window before its reset counts before it, whenever it is spent. Added quota takes
// off the newest events. Charged events count, but may exceed the limit. So may what was leased
// before they were charged, by as much as they did: see overdrawn.
func (c *checker) checkBound(key int, k *outcome) {
	r := k.limit.highest
	most := float64(r.Capacity() + k.forgotten)
	if r.MaxWait > 0 { // a turn is rounded up to a µs, and the next one perhaps less
		refill, per := r.Rate()
		most += float64(refill) / float64(per)
	}
	isBucket := r.Algorithm.Kind == limiter.TokenBucket
	vain := k.vain.overlapping()
	eras, changed := []era{{0, newTally(r, slices.Clone(vain))}}, 0
	for _, e := range k.inOrder() {
		for ; changed < len(k.changes) && k.changes[changed].at < e.at; changed++ {
			newest := eras[len(eras)-1]
			switch ch := &k.changes[changed]; ch.kind {
			case wasReset:
				eras = append(eras, era{ch.at, newTally(r, vain.after(ch.at))})
			case charged:
				newest.add(ch.at, ch.n)
			case givenBack:
				newest.giveBack(ch)
			}
		}
		in := len(eras) - 1
		for !isBucket && eras[in].begins > e.debited {
			in--
		}
		allowed := most + k.overdrawn(changed, e.debited)
		if got := eras[in].add(e.at, float64(e.n)); got > allowed+1e-6 {
			c.failAt(e.at, key, "%.2f events count at %v, want at most %.2f", got, sinceEpoch(e.at), allowed)
			return
		}
	}
}

// An era of a key is the time between two resets.
type era struct {
	begins limiter.Instant
	tally
}

// overdrawn returns how much of what was charged by one of the first changes, after the store had
// debited a lease, the limit did not allow. The store grants nothing that it has not: so what was
// charged before that counts in full, and so it does for what the store serves.
//
// What was leased of a window before a reset counts before it, and so does what was charged then.
func (k *outcome) overdrawn(changes int, debited limiter.Instant) (events float64) {
	for i := changes - 1; i >= 0 && k.changes[i].at > debited; i-- {
		switch ch := &k.changes[i]; {
		case ch.kind != wasReset:
			events += ch.over
		case k.limit.highest.Algorithm.Kind == limiter.TokenBucket:
			return events
		default:
			events = 0
		}
	}
	return events
}

// undenied returns how many events may be used without a denial while nothing goes wrong: half of
// the limit, or less if the other nodes may hold more of it.
//
// The parts of a bucket hold half of it at most, whatever their nodes want. Nothing else bounds what
// nodes hold of a window but the store's divisor. A take waits for what the others hold alone, as
// its own node returns its leases first, and a node asks for a second one when the first is low. So
// the others leave (1-1/divisor)^(nodes-1) of the limit. That is 0.61 or more where the divisor
// follows the number of nodes. Nodes that take themselves for alone get half of what is left each,
// and an eighth of a log: if they want as much, eight of them leave less than a hundredth to others.
func (c *checker) undenied() int64 {
	left, divisor := c.rule.Capacity(), int64(2)
	switch {
	case !c.alone || c.rule.Algorithm.Kind == limiter.TokenBucket:
		return left / 2
	case c.rule.Algorithm.Kind == limiter.SlidingWindowLog:
		divisor = 8
	}
	for range c.nodes[1:] {
		left -= left / divisor
	}
	return min(left, c.rule.Capacity()/2)
}
