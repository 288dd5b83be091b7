package limiter

// A tokenBucket counts what is missing from a bucket of Burst events that refills at Events per Window.
//
// The refill is exact: whole events and the fraction of the next one are kept apart, the fraction as a numerator over
// rule.per, so no rounding adds up however often a key is asked about.
//
// A bucket has no windows that could pass. What is taken passes with the refill: a bucket that would have been full without a
// take has got back by now what it has accrued since, and a refund gives back the rest.
//
// After a limit was lowered, a bucket may lack more than the new limit will ever refill in a reasonable time. What it lacks beyond
// twice the capacity does not count, so that nobody waits longer than two windows. It is not forgotten either: it is set aside, and
// counts again under any other limit, as some nodes may still have the old one.
type tokenBucket struct {
	at      Instant // up to which the refill is accounted for: the newest reading of the clock
	missing int64   // whole events that the bucket lacks
	part    int64   // accrued towards the next event, in 1/per events. Invariant: 0 <= part < per, and 0 if missing is
	per     int64   // the denominator of part; 0 before the first call
	aside   aside
}

// An aside is how many events a bucket lacks that do not count, in 40 bits, and above them the lower bits of the capacity under
// which they do not. It is 0 when there are none.
type aside int64

const (
	asideBits    = 40
	capacityBits = 23
)

// maxConsumed is the most that is ever consumed of a limit: what a store has room for in five bytes.
const maxConsumed = 1<<asideBits - 1

func newAside(r *Rule, n int64) aside {
	if n <= 0 {
		return 0
	}
	return aside(r.capacity&(1<<capacityBits-1)<<asideBits | min(n, maxConsumed))
}

func (a aside) events() int64 { return int64(a & maxConsumed) }

// under reports whether the events are set aside under the limit of r.
func (a aside) under(r *Rule) bool { return a == newAside(r, a.events()) }

// bucketIn returns the bucket that s holds.
func bucketIn(s State) tokenBucket {
	return tokenBucket{at: Instant(s[0]), missing: s[1], part: s[2], per: s[3], aside: aside(s[4])}
}

// save writes b into s.
func (b *tokenBucket) save(s State) {
	s[0], s[1], s[2], s[3], s[4] = int64(b.at), b.missing, b.part, b.per, int64(b.aside)
}

// divide sets aside what the bucket lacks beyond twice the capacity of r.
func (b *tokenBucket) divide(r *Rule) {
	if b.aside != 0 && !b.aside.under(r) {
		b.missing = min(b.missing+b.aside.events(), maxConsumed)
		b.aside = 0
	}
	if over := b.missing - 2*r.capacity; over > 0 {
		b.missing -= over
		b.aside = newAside(r, b.aside.events()+over)
	}
}

// advance accounts for the time up to now. A clock that was set back only moves the bucket: nothing accrues.
func (b *tokenBucket) advance(r *Rule, now Instant) {
	if b.per != r.per { // another limit: keep the fraction of an event, in its new unit
		if b.part > 0 {
			b.part = mulDiv(b.part, r.per, b.per)
		}
		b.per = r.per
	}
	b.divide(r)
	at, setBack := b.at.follow(now)
	elapsed := int64(at - b.at)
	b.at = at
	if setBack || b.missing == 0 && b.aside == 0 {
		return
	}
	events, part := mulAddDiv(elapsed, r.refill, b.part, r.per)
	if b.missing -= events; b.missing <= 0 {
		if b.aside != 0 {
			b.aside = newAside(r, b.aside.events()+b.missing)
		}
		b.missing, part = 0, 0
	}
	b.part = part
}

// accrued returns the instant at which n > 0 more events are in the bucket.
func (b *tokenBucket) accrued(r *Rule, n int64) Instant {
	// The first us at which part + us*refill >= n*per. It is us = floor(n*per / refill) when the division leaves
	// nothing, one more when it leaves a rest, less what part makes up for.
	us, rest := mulAddDiv(n, r.per, 0, r.refill)
	if us == int64(Never) {
		return Never
	}
	if ahead := b.part - rest; ahead >= 0 {
		us -= ahead / r.refill
	} else {
		us++ // rest < refill, so one microsecond is enough
	}
	return b.at.plus(us)
}

// decide writes the answer to a take of cost events that is, or is not, allowed; the bucket is as it is after the answer.
func (b *tokenBucket) decide(d *Decision, r *Rule, ok bool, cost int64) {
	if d.answer(r, b.at, b.missing, ok, cost) {
		d.RetryAt = b.accrued(r, cost-(r.capacity-b.missing))
	}
	if b.missing > 0 {
		d.ResetAt = b.accrued(r, b.missing)
	}
}

func (b *tokenBucket) take(d *Decision, r *Rule, now Instant, cost int64) {
	b.advance(r, now)
	ok := cost <= r.capacity-b.missing
	if ok {
		b.missing += cost
	}
	b.decide(d, r, ok, cost)
}

func (b *tokenBucket) peek(d *Decision, r *Rule, now Instant, cost int64) {
	b.advance(r, now)
	b.decide(d, r, cost <= r.capacity-b.missing, cost)
}

func (b *tokenBucket) refund(r *Rule, now Instant, seen Events, cost int64) {
	b.advance(r, now)
	b.undo(r, Events{seen.At, cost}, max(cost, seen.N))
}

// undo gives back what was consumed at the instant e.At, as far as the bucket has lacked it ever since. Right after, the bucket
// lacked lacked >= e.N events, less the fraction of one when it lacked more than e.N: before it may have been anything.
//
// A take from a later instant than b.at was before the clock was set back: nothing is given back, as nobody knows for how long
// the bucket has refilled.
func (b *tokenBucket) undo(r *Rule, e Events, lacked int64) {
	if e.At > b.at {
		return
	}
	events, part := mulAddDiv(int64(b.at-e.At), r.refill, 0, r.per) // accrued since, if the bucket was never full
	if lacked > e.N {
		if part > b.part {
			events++ // the fraction that there was before has become one
		}
		part = b.part
	}
	switch most := lacked - events; { // less part
	case most > e.N, most == e.N && part == 0:
		b.missing -= e.N
	case most > 0:
		b.missing -= most
		if b.part -= part; b.part < 0 {
			b.part += r.per
			b.missing++
		}
	}
	if b.missing <= 0 {
		b.missing, b.part = 0, 0
	}
}
