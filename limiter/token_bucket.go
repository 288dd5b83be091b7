package limiter

import "math"

// A tokenBucket counts what a bucket of Burst events lacks. It refills at Events per Window.
//
// The refill is exact: whole events and the fraction of the next one are separate, the fraction as
// a numerator over rule.per. So no rounding adds up, however often a key takes. A change of the
// rate keeps the fraction: see fraction.go.
//
// What was taken passes with the refill: a bucket that would be full without a take has got back
// what has accrued since the take. A refund gives back the rest.
//
// After a limit was lowered, a bucket may lack more than the new limit refills in a reasonable
// time. So the events that it lacks beyond twice the capacity are set aside: they do not count, and
// nobody waits longer than two windows. They count again under any other limit, because some nodes
// may still have the old limit. What was promised to takes that wait is never set aside: see
// waiting.go.
//
// If a bucket lacks more than its capacity, nothing was taken from it since the limit was lowered.
// Events that are given back to such a bucket come off those that are set aside first, which do not
// count anyway.
//
// A refund is exact if the bucket is known to have lacked at least the cost ever since the take. So
// after its first refund, a bucket notes since when it lacks a sixteenth of its capacity or more:
// see nearFull.
//
// What is charged counts in full, also beyond twice the capacity, as long as the limit stays the
// same.
type tokenBucket struct {
	at      Instant // the newest reading of the clock, up to which the refill is accounted for
	missing int64   // whole events that the bucket lacks
	part    int64   // fraction of the next event, in 1/rule.per. Invariant: 0 <= part < per; 0 if missing is 0
	aside   aside
	scarce  int64 // the nearUnit since which the bucket lacks nearFull events or more; 0 if not known
}

// An aside says how many events are set aside, in its lower 40 bits. Above them are the lower 23
// bits of the capacity under which they are set aside. So limits whose capacities differ by a
// multiple of 2^23 are not told apart. An aside is 0 if no events are set aside.
//
// An aside is negative if events were charged under this capacity, so that no more events are set
// aside.
type aside int64

const (
	asideBits    = 40
	capacityBits = 23

	charged aside = math.MinInt64 // the highest bit
)

// maxConsumed is the most that is ever consumed of a limit: stores keep it in five bytes.
const maxConsumed = 1<<asideBits - 1

func newAside(r *Rule, n int64) aside {
	if n <= 0 {
		return 0
	}
	return aside(r.capacity&(1<<capacityBits-1)<<asideBits | min(n, maxConsumed))
}

func (a aside) events() int64 { return int64(a & maxConsumed) }

// isUnder reports whether the events are set aside under the limit of r.
func (a aside) isUnder(r *Rule) bool {
	return int64(a>>asideBits)&(1<<capacityBits-1) == r.capacity&(1<<capacityBits-1)
}

// asCharged returns a for a bucket that lacks what was charged under the limit of r.
func (a aside) asCharged(r *Rule) aside {
	return charged | aside(r.capacity&(1<<capacityBits-1)<<asideBits|a.events())
}

// minus returns a without n of its events.
func (a aside) minus(r *Rule, n int64) aside {
	if a < 0 {
		return a - aside(n)
	}
	return newAside(r, a.events()-n)
}

const (
	// nearUnit is the unit, in µs, in which a bucket notes since when it is scarce. nearUnits is
	// how many units it looks back at most, so that their number fits into two bytes. That is nine
	// minutes. A take in the unit in which the bucket was last near to being full counts as a take
	// before that.
	nearUnit  = 1 << 13
	nearUnits = 1<<16 - 2
)

// nearFull returns the most events that a bucket may lack and still be near to being full. After
// the limit was raised, that is more than the bucket is known to have lacked before. So a refund of
// a take from before the raise may give back nearFull events although they were refilled.
func (r *Rule) nearFull() int64 { return r.capacity / 16 }

// bucketIn returns the bucket in s. The lower asideBits of s[1] are the missing events. The bits
// above them are the number of units for which the bucket is scarce plus one, or 0 if that is not
// known.
func bucketIn(r *Rule, s State) tokenBucket {
	b := tokenBucket{at: Instant(s[0]), missing: s[1] & maxConsumed, part: r.numerator(s[2]), aside: aside(s[3])}
	if units := s[1] >> asideBits; units > 0 {
		b.scarce = int64(b.at)/nearUnit + 2 - units
	}
	return b
}

func (b *tokenBucket) save(r *Rule, s State) {
	units := int64(0)
	if b.scarce != 0 {
		units = 1 + max(0, min(int64(b.at)/nearUnit+1-b.scarce, nearUnits))
	}
	s[0], s[1], s[2], s[3] = int64(b.at), b.missing|units<<asideBits, r.kept(b.part), int64(b.aside)
}

// noteScarcity notes whether the bucket is near to being full. It makes a full bucket forget since
// when it was scarce.
func (b *tokenBucket) noteScarcity(r *Rule) {
	switch {
	case b.scarce == 0:
	case b.missing == 0:
		b.scarce = 0
	case b.missing <= r.nearFull(): // the bucket lacks a fraction less than missing
		b.scarce = int64(b.at)/nearUnit + 1
	}
}

// advance accounts for the time up to now, and reports whether the clock was set back. If it was,
// nothing accrues.
func (b *tokenBucket) advance(r *Rule, now Instant) (moved bool) {
	if b.aside != 0 && !b.aside.isUnder(r) {
		b.missing = min(b.missing+b.aside.events(), maxConsumed)
		b.aside = 0
	}
	switch over := b.missing - r.mostMissing; {
	case over <= 0 && b.aside < 0:
		b.aside = newAside(r, b.aside.events())
	case over > 0 && b.aside >= 0:
		b.missing -= over
		b.aside = newAside(r, b.aside.events()+over)
	}
	defer b.noteScarcity(r)
	at, setBack := b.at.follow(now)
	elapsed := int64(at - b.at)
	b.at = at
	if setBack || b.missing == 0 && b.aside == 0 {
		return setBack
	}
	events, part := mulAddDiv(elapsed, r.refill, b.part, r.per)
	if b.missing -= events; b.missing <= 0 {
		if b.aside != 0 {
			b.aside = newAside(r, b.aside.events()+b.missing)
		}
		b.missing, part = 0, 0
	}
	b.part = part
	return false
}

// charge consumes cost events, whatever the limit allows.
func (b *tokenBucket) charge(r *Rule, cost int64) {
	if b.missing = min(b.missing+cost, maxConsumed); b.missing > r.mostMissing {
		b.aside = b.aside.asCharged(r)
	}
}

// accrued returns the instant at which n > 0 more events are in the bucket: the first µs at which
// part + us*refill >= n*per.
func (b *tokenBucket) accrued(r *Rule, n int64) Instant {
	us, rest := mulAddDiv(n, r.per, 0, r.refill)
	if us == int64(Never) {
		return Never
	}
	if ahead := b.part - rest; ahead >= 0 {
		us -= ahead / r.refill
	} else {
		us++ // one µs is enough, as rest < refill
	}
	return b.at.plus(us)
}

// take decides a take, and consumes its cost if consume is set and the limit allows it. It reports
// whether the count is to be written: see [Count].
func (b *tokenBucket) take(d *Decision, r *Rule, now Instant, cost int64, consume bool) (write bool) {
	moved := b.advance(r, now)
	ok := cost <= r.capacity-b.missing
	if ok && consume {
		b.missing += cost
	}
	b.decide(d, r, ok, cost)
	return ok || moved
}

// decide writes the answer to a take. ok says whether the take is allowed, and b is as the take
// left it.
func (b *tokenBucket) decide(d *Decision, r *Rule, ok bool, cost int64) {
	if d.answer(r, b.at, b.missing, ok, cost) {
		d.RetryAt = b.accrued(r, cost-(r.capacity-b.missing))
	}
	if b.missing > 0 {
		d.ResetAt = b.accrued(r, b.missing)
	}
}

// undo gives back the e.N events that were consumed at e.At, as far as the bucket has lacked them
// ever since. Right after e.At, it lacked lacked >= e.N events. If it lacked more than e.N, it
// lacked a fraction of an event less, which is not known. If the bucket was not near to being full
// since, undo gives back at least nearFull of the events, or all if they are fewer.
//
// If e.At is later than b.at, the clock was set back after the take. Then undo gives nothing back,
// because it is not known how long the bucket has refilled since. It gives nothing back either
// while events are promised.
func (b *tokenBucket) undo(r *Rule, e Events, lacked int64) {
	if e.At > b.at || b.promised(r) {
		return
	}
	events, part := mulAddDiv(int64(b.at-e.At), r.refill, 0, r.per) // accrued since, if never full
	if lacked > e.N {
		if part > b.part {
			events++ // the fraction from before has become an event
		}
		part = b.part
	}
	before, partBefore := b.missing, b.part
	switch most := lacked - events; { // the bucket still lacks this many of them, less part
	case most > e.N, most == e.N && part == 0:
		b.missing -= e.N
	case most > 0:
		b.missing -= most
		if b.part -= part; b.part < 0 {
			b.part += r.per
			b.missing++
		}
	}
	if whole := min(e.N, r.nearFull()); b.scarce != 0 && int64(e.At) >= b.scarce*nearUnit && before-b.missing < whole {
		b.missing, b.part = before-whole, partBefore
	}
	if back := min(before-b.missing, b.aside.events()); back > 0 && before > r.capacity {
		b.missing += back
		b.aside = b.aside.minus(r, back)
	}
	if b.missing <= 0 {
		b.missing, b.part = 0, 0
	}
	if b.scarce == 0 {
		b.scarce = int64(b.at)/nearUnit + 1
	}
	b.noteScarcity(r)
}

// addQuota gives back at most the given number of the events that the bucket lacks.
func (b *tokenBucket) addQuota(r *Rule, events int64) {
	if b.missing -= events; b.missing <= 0 {
		b.missing, b.part = 0, 0
	}
	b.noteScarcity(r)
}

// bucketCalculator is the calculator of token buckets.
type bucketCalculator struct{}

func (bucketCalculator) size(Algorithm) int { return 4 }

func (bucketCalculator) follow(s State, r *Rule, now Instant) {
	if b := bucketIn(r, s); b.advance(r, now) {
		b.save(r, s)
	}
}

func (bucketCalculator) refund(s State, r *Rule, now Instant, seen Events, cost int64) {
	b := bucketIn(r, s)
	b.advance(r, now)
	b.undo(r, Events{seen.At, cost}, max(cost, seen.N))
	b.save(r, s)
}

func (bucketCalculator) charge(s State, r *Rule, now Instant, cost int64) {
	b := bucketIn(r, s)
	b.advance(r, now)
	b.charge(r, cost)
	b.save(r, s)
}

func (bucketCalculator) inspect(s State, r *Rule, now Instant) CountState {
	var d Decision
	b := bucketIn(r, s)
	b.take(&d, r, now, 1, false)
	return stateOf(d, b.missing)
}

func (bucketCalculator) addQuota(s State, r *Rule, now Instant, events int64) {
	b := bucketIn(r, s)
	if b.advance(r, now); b.missing > 0 {
		b.addQuota(r, events)
		b.save(r, s)
	}
}
