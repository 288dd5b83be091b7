package leasetest

import "github.com/fleetlimit/fleetlimit/limiter"

// parts account for the open parts of a bucket, summed by slots of time: a part that is granted in
// a slot ends at the end of the next one. So they take no more room for more nodes.
//
// A slot is short or long.
type parts struct {
	ends              limiter.Instant // of the current slot
	length            int64           // of a short slot, in µs; 0 when no part was ever granted
	long              longSlots
	current, previous slotParts // granted in the current slot, and in the one before
}

// longSlots say which slots are long.
type longSlots struct{ next, current, previous bool }

// slotParts are the sums over the open parts of a slot.
type slotParts struct {
	shares  int64 // of the refill, in 1/limiter.Shares of it
	accrues int64 // share * (end of the part - grant), in µs
	events  int64 // granted at once, or kept by a node that has returned the rest
}

const (
	// A long slot is as long as slotsInLong short ones, but at most longestSlot µs.
	slotsInLong, longestSlot = 9, 120_000_000
)

// longSlot returns the length of a long slot while short slots have this length.
func longSlot(length int64) int64 { return min(slotsInLong*length, longestSlot) }

func (p *parts) lengthOf(long bool) int64 {
	if long {
		return longSlot(p.length)
	}
	return p.length
}

func (p *parts) open() bool { return p.current != slotParts{} || p.previous != slotParts{} }

// shares returns how much of the refill the parts get.
func (p *parts) shares() int64 { return p.current.shares + p.previous.shares }

// lentUntil returns when a part ends that is granted now.
func (p *parts) lentUntil() limiter.Instant {
	return p.ends + limiter.Instant(p.lengthOf(p.long.next))
}

func (p *parts) leasedUntil() limiter.Instant {
	switch {
	case p.current != slotParts{}:
		return p.lentUntil()
	case p.previous != slotParts{}:
		return p.ends
	}
	return 0
}

// held returns the most that nodes can hold unspent at the instant at, in the current slot:
// events + numerator/per, rounded up by less than what accrues in a microsecond.
func (p *parts) held(r *limiter.Rule, at limiter.Instant) (events, numerator int64) {
	us := p.current.accrues - p.current.shares*int64(p.lentUntil()-at) +
		p.previous.accrues - p.previous.shares*int64(p.ends-at)
	events, numerator = accrual(r, us)
	return p.current.events + p.previous.events + events, numerator
}

// most returns how many events nodes can hold when the parts end, rounded up.
func (p *parts) most(r *limiter.Rule) int64 {
	events, numerator := accrual(r, p.current.accrues+p.previous.accrues)
	if numerator > 0 {
		events++
	}
	return p.current.events + p.previous.events + events
}

// accrual returns what accrues in a number of 1/limiter.Shares µs, which is rounded up to µs.
func accrual(r *limiter.Rule, us int64) (events, numerator int64) {
	refill, per := r.Rate()
	return mulAddDiv((us+limiter.Shares-1)/limiter.Shares, refill, 0, per)
}

// maxWait is how long the bucket takes at most to accrue an event by what no part has of the refill,
// in µs. A take that finds it empty does not wait for longer because of parts.
const maxWait = 2_000_000

// unshared returns how much of the refill no part may have.
func unshared(r *limiter.Rule) int64 {
	refill, per := r.Rate()
	return limiter.Shares*(per/refill)/maxWait + 1
}

// begin makes sure of slots in which at lies, with short slots of this length. It reports false
// while parts are open in slots of another length: no part is granted until they have ended. The
// first slot begins at the instant at, so that no part that has ended was granted in it.
func (p *parts) begin(at limiter.Instant, length int64, long bool) bool {
	if !p.open() {
		*p = parts{length: length, long: longSlots{long, long, long}}
		p.ends = at + limiter.Instant(p.lengthOf(long))
	}
	return p.length == length
}

// grant opens a part at the instant at, which is in the current slot.
func (p *parts) grant(at limiter.Instant, events, share int64) {
	p.current.events += events
	p.current.shares += share
	p.current.accrues += share * int64(p.lentUntil()-at)
}

// takeBack closes a part of which the node keeps all but e.N events, and reports whether it was
// open at the instant at. What remains must have been granted by then, in the same slot: a part from
// before the clock was set back may be none of these, although its numbers fit.
func (p *parts) takeBack(e limiter.Return, at limiter.Instant) bool {
	slot, ends, begins := &p.current, p.lentUntil(), p.ends-limiter.Instant(p.lengthOf(p.long.current))
	if e.At >= p.ends {
		return false
	}
	if e.At < begins {
		slot, ends, begins = &p.previous, p.ends, begins-limiter.Instant(p.lengthOf(p.long.previous))
	}
	shares, accrues := slot.shares-e.Share, slot.accrues-e.Share*int64(ends-e.At)
	switch {
	case e.At < begins, shares < 0, e.N > slot.events,
		accrues < shares*int64(ends-at), accrues > shares*int64(ends-begins):
		return false // it is not one of these parts
	}
	slot.shares, slot.accrues = shares, accrues
	slot.events -= e.N
	return true
}

// follow moves the slots with a clock that was set back from before to at.
func (p *parts) follow(before, at limiter.Instant) { p.ends += at - before }

// rotate makes the next slot the current one. The parts of the previous one have ended. The slot
// after that is a short one.
func (p *parts) rotate() {
	p.ends = p.lentUntil()
	p.long = longSlots{false, p.long.next, p.long.current}
	p.current, p.previous = slotParts{}, p.current
}
