package limiter

import "math"

const (
	// memory is how many times as long as a lease lasts demand is remembered.
	memory = 4

	// enough is what is added to the expected demand before it is rounded down: a lease for three takes in ten is worth it.
	enough = 0.7

	// maxLot bounds what is wanted at a time.
	maxLot = 1 << 30
)

// Asking reports whether a loan is under way.
func (a *Account) Asking() bool { return a.flags&asking != 0 }

// Low reports whether the store should be asked in the background, so that takes need not wait: little is left of the lease, or it
// ends soon.
func (a *Account) Low(r *Rule, now Instant) bool {
	m := momentOf(now)
	if a.Asking() || !r.Leases() || a.owed != a.paid && a.lot(0, m) == 0 {
		return !a.Asking() && a.owed != a.paid
	}
	older, newer := a.lot(0, m), a.lot(1, m)
	if older > 0 && newer > 0 {
		return false
	}
	if float32(older+newer) <= a.expected(r)/4 {
		return true
	}
	ends := a.ends[0]
	if newer > 0 {
		ends = a.ends[1]
	}
	soon := ends.since(m)
	return soon < r.leaseTime()/4 && (r.slot > 0 || soon+soon/8 < a.untilEnd(r, m)) // not when the window itself ends
}

// expected returns how many events takes will probably ask for while a lease lasts.
func (a *Account) expected(r *Rule) float32 { return a.demand / memory }

// Ask prepares a loan at now: what waiting takes need, what is expected to be spent, and what goes back. Until it is answered, or
// [Account.Fail] is called, no other may be asked for.
func (a *Account) Ask(r *Rule, now Instant, need, more int64, l *Loan) {
	m := momentOf(now)
	if a.limit != r.limitID {
		a.adopt(r, m)
	}
	*l = Loan{
		Rule: r, Key: l.Key, Need: need, More: more,
		Owed: int64(a.owed), Paid: int64(a.paid),
		Seen: Events{a.seenAt, a.used}, Run: a.run,
	}
	a.measure(r, m, need+more)
	for i := range a.left {
		if a.left[i] > 0 && a.lot(i, m) == 0 {
			l.Back[i] = Events{a.at[i], a.left[i]}
			a.left[i] = 0
		}
	}
	if a.left[0] == 0 {
		a.left[0], a.at[0], a.ends[0] = a.left[1], a.at[1], a.ends[1]
		a.left[1] = 0
	}
	l.Want = a.want(r, m)
	a.flags |= asking
	a.askedAt = m
}

// measure notes that takes have asked for so many events now, besides those that were spent here.
func (a *Account) measure(r *Rule, m moment, events int64) {
	elapsed := float64(m.since(a.askedAt))
	a.demand *= float32(math.Exp(-elapsed / float64(memory*r.leaseTime())))
	a.demand += float32(a.taken) + float32(events)
	a.taken = 0
}

// want returns how many events to ask for in advance.
func (a *Account) want(r *Rule, m moment) int64 {
	if !r.Leases() {
		return 0
	}
	expected := a.expected(r)
	if r.slot == 0 && a.seenAt != 0 {
		if end := a.untilEnd(r, m); end > 0 && end < maxLease {
			expected *= float32(end) / maxLease
		}
	}
	return max(0, min(int64(expected+enough), maxLot)-a.left[0]-a.left[1])
}

// Answer notes the answer to a loan at now, which was asked for at the instant asked. A denial is remembered for a second at most,
// as other nodes may give back what they have leased, and by so many µs longer than the store said, so that not all nodes ask
// again at once; unless forget says that something of this node's own was still to be given back.
func (a *Account) Answer(r *Rule, asked, now Instant, l *Loan, jitter int64, forget bool) {
	d := &l.Decision
	m := momentOf(now)
	fresh := a.seenAt == 0 || r.Algorithm.Kind == FixedWindow && d.At-Instant(d.At.into(r.window)) > a.seenAt
	a.flags &^= asking
	a.used, a.seenAt, a.run = r.capacity-d.Remaining, d.At, l.Run
	a.paid = max(a.paid, uint32(l.Owed))
	a.credit = 0
	if l.Lent > 0 {
		a.store(l.Lent, d.At, momentOf(asked+(l.Ends-d.At)-Instant(leaseMargin(r.slot))))
	}
	if fresh {
		a.shown, a.shownAt = a.total(r), m
	}
	switch {
	case l.Need == 0:
	case d.OK:
		a.deniedCost = 0
	case !forget:
		a.deny(now, l, jitter)
	}
}

// store adds a lot.
func (a *Account) store(n int64, at Instant, ends moment) {
	switch {
	case a.left[0] == 0:
		a.left[0], a.at[0], a.ends[0] = n, at, ends
	case a.left[1] == 0:
		a.left[1], a.at[1], a.ends[1] = n, at, ends
	default: // takes of a high cost have asked though there is something left: all of it ends with the older of the two
		a.left[1] += n
	}
}

// remembered is how long a denial is remembered at most, in µs.
const remembered = 1_000_000

// deny remembers the denial of l.
func (a *Account) deny(now Instant, l *Loan, jitter int64) {
	retry := int64(min(l.Decision.RetryAt-l.Decision.At, furthest))
	if l.Decision.RetryAt == Never {
		a.retryAt = Never
	} else {
		a.retryAt = now + (l.Decision.RetryAt - l.Decision.At) + Instant(jitter)
	}
	a.deniedCost = uint32(min(l.Need, math.MaxUint32))
	a.denied = momentOf(now + Instant(min(retry+jitter, remembered)))
}

// Fail notes that the outcome of a loan is unknown. What was to go back is lost; what is owed will be told again.
func (a *Account) Fail() { a.flags &^= asking }

// Served tells the account what was served to takes that waited, and returns what clients are told to remain after it.
func (a *Account) Served(r *Rule, now Instant, cost int64) int64 {
	return a.show(r, momentOf(now), cost)
}
