package limiter

import "sort"

// A slidingLog remembers the instant of every event. An event of the instant s is in the window until s + window, and
// not at it, so that no window, wherever it begins, holds more events than the limit.
//
// Events of the same microsecond share an entry; a log takes 16 bytes for each entry of the last window.
type slidingLog struct {
	at   Instant // the newest reading of the clock
	ring logRing // the entries in the window, oldest first, none of them empty
	gone int64   // upTo of the entry that left last
}

// A logEntry stands for the events of one instant. How many they are is the difference to the entry before: so both
// what is in the window and when it has fallen to something are found without adding up entries.
type logEntry struct {
	at   Instant
	upTo int64 // events up to and with this entry, since some beginning; may wrap, only differences count
}

// used returns how many events are in the window.
func (l *slidingLog) used() int64 {
	if l.ring.n == 0 {
		return 0
	}
	return l.ring.last().upTo - l.gone
}

// advance lets go of what is no longer in the window at now. When the clock was set back, the whole log moves back
// with it.
func (l *slidingLog) advance(r *Rule, now Instant) {
	at, setBack := l.at.follow(now)
	if setBack {
		for i := range l.ring.n {
			l.ring.entry(i).at -= l.at - at
		}
	}
	l.at = at
	for l.ring.n > 0 && l.ring.entry(0).at <= at-Instant(r.window) {
		l.gone = l.ring.entry(0).upTo
		l.ring.drop()
	}
	l.ring.shrink()
}

// add notes cost events at the newest instant.
func (l *slidingLog) add(cost int64) {
	if l.ring.n > 0 && l.ring.last().at == l.at {
		l.ring.last().upTo += cost
		return
	}
	l.ring.push(logEntry{l.at, l.gone + l.used() + cost})
}

// oldest returns the instant of the nth event in the window, the oldest being the first.
func (l *slidingLog) oldest(n int64) Instant {
	i := sort.Search(l.ring.n, func(i int) bool { return l.ring.entry(i).upTo-l.gone >= n })
	return l.ring.entry(i).at
}

// decide answers a take of cost events that is, or is not, allowed; the log is as it is after the answer.
func (l *slidingLog) decide(r *Rule, ok bool, cost int64) (d Decision) {
	used := l.used()
	if d.answer(r, l.at, used, ok, cost) {
		d.RetryAt = l.oldest(used-(r.capacity-cost)) + Instant(r.window)
	}
	if used > 0 {
		d.ResetAt = l.ring.last().at + Instant(r.window)
	}
	return d
}

func (l *slidingLog) Take(r *Rule, now Instant, cost int64) Decision {
	l.advance(r, now)
	ok := cost <= r.capacity-l.used()
	if ok {
		l.add(cost)
	}
	return l.decide(r, ok, cost)
}

func (l *slidingLog) Peek(r *Rule, now Instant, cost int64) Decision {
	l.advance(r, now)
	return l.decide(r, cost <= r.capacity-l.used(), cost)
}

// Refund takes time proportional to the entries after the take. Events of a late reading were noted as of the newest: they
// are looked for up to LateReading after it, oldest first, so that what stays in the log leaves it no earlier. Nothing is
// given back for events that have left the window: what is in it is of others.
func (l *slidingLog) Refund(r *Rule, now Instant, seen Events, cost int64) {
	l.advance(r, now)
	taken := seen.At
	if taken <= l.at-Instant(r.window) {
		return
	}
	from := sort.Search(l.ring.n, func(i int) bool { return l.ring.entry(i).at >= taken })
	before := l.gone // upTo of the entry before, as it was
	if from > 0 {
		before = l.ring.entry(from - 1).upTo
	}
	kept, back := from, int64(0)
	for i := from; i < l.ring.n; i++ {
		e := *l.ring.entry(i)
		events := e.upTo - before
		before = e.upTo
		if e.at <= taken+LateReading {
			give := min(events, cost-back)
			back += give
			events -= give
		}
		if events == 0 {
			continue
		}
		e.upTo -= back
		*l.ring.entry(kept) = e
		kept++
	}
	l.ring.n = kept
}
