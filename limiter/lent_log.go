package limiter

import "slices"

// A lendingLog is a sliding window log whose events are lent. An event that a take needs is noted at once. One that is lent in
// advance is noted at the latest instant at which it can be spent, the end of the slot after that in which it was lent: until
// then it is in no window that it should not be in, and afterwards in none that it should.
type lendingLog struct {
	slidingLog
	leaseSlots
}

func (l *lendingLog) clone() lendingCount {
	c := *l
	c.ring.buf = slices.Clone(l.ring.buf)
	return &c
}

func (l *lendingLog) newest() Instant { return l.at }

func (l *lendingLog) advance(r *Rule, now Instant) (moved bool) {
	at, setBack := l.at.follow(now)
	if setBack && l.out() > 0 {
		l.ends = at + Instant(l.length)
	}
	for l.out() > 0 && at >= l.ends {
		end := l.ends
		if n := l.rotate(); n > 0 {
			l.ring.push(logEntry{end, l.gone + l.used() + n})
		}
	}
	l.slidingLog.advance(r, now)
	return setBack
}

func (l *lendingLog) consumed() int64 { return l.used() + l.out() }

func (l *lendingLog) decide(d *Decision, r *Rule, ok bool, cost int64) {
	noted, used := l.used(), l.consumed()
	if d.answer(r, l.at, used, ok, cost) {
		switch leave := used - (r.capacity - cost); {
		case leave <= noted:
			d.RetryAt = l.oldest(leave) + Instant(r.window)
		case leave <= noted+l.before:
			d.RetryAt = l.ends + Instant(r.window)
		default:
			d.RetryAt = l.lentUntil() + Instant(r.window)
		}
		d.capRetry(l.leasedUntil())
	}
	switch {
	case l.open > 0:
		d.ResetAt = l.lentUntil() + Instant(r.window)
	case l.before > 0:
		d.ResetAt = l.ends + Instant(r.window)
	case noted > 0:
		d.ResetAt = l.ring.last().at + Instant(r.window)
	}
}

func (l *lendingLog) consume(_ *Rule, n int64) { l.add(n) }

func (l *lendingLog) lend(r *Rule, n int64) {
	l.begin(l.at, r.slot)
	l.open += n
}

func (l *lendingLog) giveBack(_ *Rule, e Events) { l.back(e.N, e.At) }

func (l *lendingLog) undo(r *Rule, e, _ Events) { l.Refund(r, l.at, e, e.N) }

func (l *lendingLog) restoreSeen(_ *Rule, n int64) {
	if lost := n - l.consumed(); lost > 0 {
		l.add(lost)
	}
}
