package limiter

import "sort"

// A slidingLog remembers the instant of every event. An event at s is in the window until s +
// window and not at it, so no window, wherever it begins, has more events than the limit.
//
// Events of one microsecond share an entry. A log takes 16 bytes per entry in the window.
type slidingLog struct {
	at   Instant // the newest reading of the clock
	ring logRing // the entries in the window, oldest first, none without events
	gone int64   // upTo of the entry that left last
}

// A logEntry has the events of one instant: upTo less that of the entry before. So the events in
// the window, and when they have fallen to a number, are found without adding up entries.
type logEntry struct {
	at   Instant
	upTo int64 // events up to this entry; may wrap, as only differences count
}

// used returns how many events are in the window.
func (l *slidingLog) used() int64 {
	if l.ring.n == 0 {
		return 0
	}
	return l.ring.last().upTo - l.gone
}

// advance drops what has left the window at now. When the clock was set back, the whole log moves
// back with it.
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

// add records cost events at the newest instant.
func (l *slidingLog) add(cost int64) {
	if l.ring.n > 0 && l.ring.last().at == l.at {
		l.ring.last().upTo += cost
		return
	}
	l.ring.push(logEntry{l.at, l.gone + l.used() + cost})
}

// oldest returns the instant of the nth event in the window, counted from 1.
func (l *slidingLog) oldest(n int64) Instant {
	i := sort.Search(l.ring.n, func(i int) bool { return l.ring.entry(i).upTo-l.gone >= n })
	return l.ring.entry(i).at
}

func (l *slidingLog) Take(r *Rule, now Instant, cost int64) Decision {
	return l.take(r, now, cost, true)
}

func (l *slidingLog) Peek(r *Rule, now Instant, cost int64) Decision {
	return l.take(r, now, cost, false)
}

// take decides a take, and consumes its cost if consume is set and the limit allows it.
func (l *slidingLog) take(r *Rule, now Instant, cost int64, consume bool) Decision {
	l.advance(r, now)
	ok := cost <= r.capacity-l.used()
	if ok && consume {
		l.add(cost)
	}
	return l.decide(r, ok, cost)
}

// decide answers a take that is, or is not, allowed. l is as the take left it.
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

// Refund takes time proportional to the entries after the take. Nothing is given back for events
// that have left the window, because the events in it are of other takes.
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
		// Events of a late reading were recorded at the newest instant. Giving back the oldest
		// first makes sure that what stays leaves the log no earlier.
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
