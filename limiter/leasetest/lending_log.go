package leasetest

import (
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A lendingLog is a sliding window log that lends.
//
// Events that a take needs are entered at once. Leased events are entered at the latest instant at
// which they can be spent, the end of the slot after that in which they were lent: so each window
// that they may be spent in counts them.
type lendingLog struct {
	leaseSlots
	at      limiter.Instant
	entries []limiter.Events // in the window, oldest first, none of them empty
	entered int64            // the sum of entries
}

func (l *lendingLog) clone() lendingCount {
	c := *l
	c.entries = slices.Clone(l.entries)
	return &c
}

func (l *lendingLog) newest() limiter.Instant { return l.at }

func (l *lendingLog) leased(*limiter.Rule) int64 { return l.out() }

func (l *lendingLog) consumed() int64 { return l.entered + l.out() }

func (l *lendingLog) advance(r *limiter.Rule, now limiter.Instant) (moved bool) {
	at, setBack := follow(l.at, now)
	if setBack {
		l.leaseSlots.follow(at)
		for i := range l.entries {
			l.entries[i].At -= l.at - at
		}
	}
	for l.out() > 0 && at >= l.ends {
		ends := l.ends
		l.enter(ends, l.rotate())
	}
	l.at = at
	gone := 0
	for gone < len(l.entries) && l.entries[gone].At <= at-window(r) {
		l.entered -= l.entries[gone].N
		gone++
	}
	l.entries = l.entries[gone:]
	return setBack
}

// enter adds n events at the instant at, which is not before that of the last entry.
func (l *lendingLog) enter(at limiter.Instant, n int64) {
	if n <= 0 {
		return
	}
	l.entered += n
	if last := len(l.entries) - 1; last >= 0 && l.entries[last].At == at {
		l.entries[last].N += n
		return
	}
	l.entries = append(l.entries, limiter.Events{At: at, N: n})
}

func (l *lendingLog) decide(d *limiter.Decision, r *limiter.Rule, ok bool, cost int64) {
	leaves := window(r) // how long after its instant an entry leaves the window
	if decide(d, r, l.at, l.consumed(), ok, cost) {
		switch leave := l.consumed() - (r.Capacity() - cost); {
		case leave <= l.entered:
			d.RetryAt = l.oldest(leave) + leaves
		case leave <= l.entered+l.previous:
			d.RetryAt = l.ends + leaves
		default:
			d.RetryAt = l.lentUntil() + leaves
		}
		capRetry(d, l.leasedUntil())
	}
	switch {
	case l.out() > 0:
		d.ResetAt = l.leasedUntil() + leaves
	case len(l.entries) > 0:
		d.ResetAt = l.entries[len(l.entries)-1].At + leaves
	}
}

// oldest returns the instant of the nth event in the window, the oldest being the first.
func (l *lendingLog) oldest(n int64) limiter.Instant {
	for _, e := range l.entries {
		if n -= e.N; n <= 0 {
			return e.At
		}
	}
	return limiter.Never
}

func (l *lendingLog) consume(_ *limiter.Rule, n int64) { l.enter(l.at, n) }

func (l *lendingLog) lend(q *limiter.LeaseRequest) {
	if n := lendable(q, q.Rule.Capacity()-l.consumed()); n > 0 {
		l.leaseSlots.lend(l.at, q.Rule.LeaseSlot(), n)
		q.Granted, q.Expires = n, l.lentUntil()
	}
}

func (l *lendingLog) takeBack(_ *limiter.Rule, e limiter.Return, _ limiter.Spends) {
	l.leaseSlots.takeBack(e.Events)
}

// cancel removes events of the instant of e. Those of a late reading were entered as of the newest
// reading then: they are looked for up to LateReading after it, oldest first.
func (l *lendingLog) cancel(r *limiter.Rule, e, _ limiter.Events) {
	if e.At <= l.at-window(r) {
		return
	}
	for i := range l.entries {
		if entry := &l.entries[i]; entry.At >= e.At && entry.At <= e.At+limiter.LateReading {
			n := min(entry.N, e.N)
			entry.N -= n
			e.N -= n
			l.entered -= n
		}
	}
	l.entries = slices.DeleteFunc(l.entries, func(e limiter.Events) bool { return e.N == 0 })
}

func (l *lendingLog) restoreSeen(_ *limiter.Rule, n int64) { l.enter(l.at, n-l.consumed()) }

// addQuota does not give back leased events, which are when they are returned.
func (l *lendingLog) addQuota(_ *limiter.Rule, n int64) {
	for n > 0 && len(l.entries) > 0 {
		last := &l.entries[len(l.entries)-1]
		back := min(n, last.N)
		last.N -= back
		l.entered -= back
		n -= back
		if last.N == 0 {
			l.entries = l.entries[:len(l.entries)-1]
		}
	}
}
