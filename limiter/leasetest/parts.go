package leasetest

import "github.com/fleetlimit/fleetlimit/limiter"

// parts account for the open parts of a bucket, summed by slots of time: a part that is granted in
// a slot ends at the end of the next one. So they take no more room for more nodes.
//
// The slots follow each other from the Unix epoch, unless their length was changed.
type parts struct {
	ends              limiter.Instant // of the current slot
	length            int64           // in µs; 0 when no part was ever granted
	current, previous slotParts       // granted in the current slot, and in the one before
}

// slotParts are the sums over the open parts of a slot.
type slotParts struct {
	shares int64 // of the refill, in 1/limiter.Shares of it
	offset int64 // share * (grant - start of the slot), in µs
	events int64 // granted at once, or kept by a node that has returned the rest
}

func (p *parts) open() bool { return p.current != slotParts{} || p.previous != slotParts{} }

// shares returns how much of the refill the parts get.
func (p *parts) shares() int64 { return p.current.shares + p.previous.shares }

// lentUntil returns when a part ends that is granted now.
func (p *parts) lentUntil() limiter.Instant { return p.ends + limiter.Instant(p.length) }

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
	since := int64(at - p.ends)
	us := p.current.shares*(since+p.length) - p.current.offset + p.previous.shares*(since+2*p.length) - p.previous.offset
	events, numerator = accrual(r, us)
	return p.current.events + p.previous.events + events, numerator
}

// most returns how many events nodes can hold when the parts end, rounded up.
func (p *parts) most(r *limiter.Rule) int64 {
	us := 2*p.length*p.shares() - p.current.offset - p.previous.offset
	events, numerator := accrual(r, us)
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

// begin makes sure of slots of this length in which at lies. It reports false while parts are open
// in slots of another length: no part is granted until they have ended.
func (p *parts) begin(at limiter.Instant, length int64) bool {
	if !p.open() {
		*p = parts{ends: begin(at, length) + limiter.Instant(length), length: length}
	}
	return p.length == length
}

// grant opens a part at the instant at, which is in the current slot.
func (p *parts) grant(at limiter.Instant, events, share int64) {
	p.current.events += events
	p.current.shares += share
	p.current.offset += share * (int64(at-p.ends) + p.length)
}

// takeBack closes a part of which the node keeps all but e.N events, and reports whether it was
// open at the instant at. What remains must have been granted by then: a part from before the clock
// was set back may be none of these, although its numbers fit.
func (p *parts) takeBack(e limiter.Return, at limiter.Instant) bool {
	slot, begins := &p.current, p.ends-limiter.Instant(p.length)
	switch {
	case e.At >= p.ends || e.At < begins-limiter.Instant(p.length):
		return false
	case e.At < begins:
		slot, begins = &p.previous, begins-limiter.Instant(p.length)
	}
	offset := e.Share * int64(e.At-begins)
	latest := (slot.shares - e.Share) * int64(at-begins)
	if e.Share > slot.shares || e.N > slot.events || offset > slot.offset || slot.offset-offset > latest {
		return false // it is not one of these parts
	}
	slot.shares -= e.Share
	slot.offset -= offset
	slot.events -= e.N
	if slot.shares == 0 {
		slot.offset = 0
	}
	return true
}

// follow moves the slots with a clock that was set back from before to at.
func (p *parts) follow(before, at limiter.Instant) { p.ends += at - before }

// rotate makes the next slot the current one. The parts of the previous one have ended.
func (p *parts) rotate() {
	p.current, p.previous = slotParts{}, p.current
	p.ends += limiter.Instant(p.length)
}
