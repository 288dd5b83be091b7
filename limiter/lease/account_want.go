package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	// memory is how many times as long as a lease lasts demand is remembered.
	demandHorizon = 2

	// enough is what is added to the expected demand before it is rounded down: one event is asked for in advance where 0.7 are
	// expected, as it is spent more often than not from there on (1 - e^-0.7 = 0.5); below, giving it back costs the store more
	// requests than it saves.
	roundUpBias = 0.3

	// lowParts is when a lot is exchanged for a new one: when one of so many parts is left of what it is for, or of the time that a
	// lease lasts as a rule.
	lowParts = 8

	// maxLot bounds what is wanted at a time.
	maxWant = 1 << 30
)

// NeedsRefill reports whether the store should be asked in the background, so that takes need not wait: something is owed, little is left
// of the lease, or it ends soon.
func (b *hot) NeedsRefill(r *limiter.Rule, now limiter.Instant) bool {
	switch {
	case b.Asking():
		return false
	case b.inDebt:
		return true
	}
	left, ends := b.current(now)
	if float32(left) > 2*b.demand/(demandHorizon*lowParts) && ends > r.LeaseTime()/lowParts { // mostly: no lease is for twice as much as most are
		return false
	}
	return b.want(r, now) > 0
}

// ShouldRenew reports whether the store should be asked in the background as the lease has ended: takes have gone on since it was asked
// last, at least a fourth as many as were expected. A lease that few have spent is not followed by another.
func (a account) ShouldRenew(r *limiter.Rule, now limiter.Instant) bool {
	goesOn := a.taken > 0 && 4*float32(a.taken) >= a.expected(r, a.sinceAsked(now))
	return goesOn && !a.Asking() && a.leased(now) == 0 && a.want(r, now) > 0
}

// current returns what is left of the lot that ends last, and in how many µs that is.
func (b *hot) current(now limiter.Instant) (left, ends int64) {
	for i := range b.remaining {
		if n := b.usable(i, now); n > 0 {
			left, ends = n, b.usableFor(i, now)
		}
	}
	return left, ends
}

// nextLasts returns for how many µs a lease can be spent that is asked for now, as far as is known here.
func (b *hot) nextLasts(r *limiter.Rule, now limiter.Instant) int64 {
	if b.seenAt == 0 {
		return r.LeaseTime()
	}
	if r.LeaseSlot() > 0 {
		return 2*r.LeaseSlot() - int64(b.seenAt+limiter.Instant(b.sinceHeard(now)))%r.LeaseSlot() - r.LeaseMargin()
	}
	return min(r.LeaseTime(), b.untilNext(r, now))
}

// expected returns how many events takes will probably ask for in so many µs.
func (b *hot) expected(r *limiter.Rule, us int64) float32 {
	return b.demand * float32(us) / float32(demandHorizon*r.LeaseTime())
}

// updateDemand notes that takes have asked for so many events now, besides those that were spent here.
func (a account) updateDemand(r *limiter.Rule, now limiter.Instant, events int64) {
	elapsed := float64(a.sinceAsked(now))
	a.demand *= float32(math.Exp(-elapsed / float64(demandHorizon*r.LeaseTime())))
	a.demand += float32(a.taken) + float32(events)
	a.taken = 0
}

// nearLimit reports whether the key is so near to its limit that takes may be denied for what others hold and do not spend. Arrivals at
// random vary by the root of their number, so five times that is rarely reached by chance.
func (b *hot) nearLimit(r *limiter.Rule, now limiter.Instant) bool {
	return float64(r.Capacity()-b.used) < 5*math.Sqrt(float64(r.Capacity())) && !b.passed(r, now)
}

// leaseSize returns how large a lot is from which so many events are expected to be spent. Near the limit, it is only what is spent of it
// nearly always; in a log it is nothing there, as what is lent counts for longer than what is spent at once.
func (b *hot) leaseSize(r *limiter.Rule, now limiter.Instant, expected float32) int64 {
	switch {
	case !b.nearLimit(r, now):
		expected += roundUpBias
	case r.Algorithm.Kind == limiter.SlidingWindowLog:
		return 0
	default:
		expected -= 1.5 * float32(math.Sqrt(float64(expected)))
	}
	return int64(min(expected, maxWant))
}

// want returns how many events to ask for in advance: what will probably be spent while they can be, less what is kept for that. It
// is none as long as enough is left of the lot that ends last, for long enough.
func (b *hot) want(r *limiter.Rule, now limiter.Instant) int64 {
	if !r.Leases() || b.remaining[0] > 0 && b.remaining[1] > 0 {
		return 0
	}
	left, ends := b.current(now)
	last := b.nextLasts(r, now)
	expected := b.expected(r, last)
	if float32(left) > expected/lowParts && (ends > r.LeaseTime()/lowParts || last < 2*ends) {
		return 0
	}
	return max(0, b.leaseSize(r, now, expected)-b.keepDuringRefill(r, left, ends))
}

// keepDuringRefill returns how much of a lot, of which so much is left for so long, is not exchanged for a new one: takes spend it until that is
// there. It is half of what is expected to be spent of it, so there is seldom something left in the end.
func (b *hot) keepDuringRefill(r *limiter.Rule, left, ends int64) int64 {
	return min(left, int64(b.expected(r, ends)/2))
}
