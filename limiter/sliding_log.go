package limiter

import (
	"slices"
	"sort"
)

// A slidingLog remembers the instant of every event. An event at the instant s is in the window
// before s + window, and no longer at s + window. So no window, wherever it begins, has more events
// than the limit.
//
// Events of one microsecond share an entry. A log takes 16 bytes per entry in the window.
type slidingLog struct {
	at      Instant    // the newest reading of the clock
	entries []logEntry // the entries from first on are in the window, oldest first; each has events
	first   int
	gone    int64 // upTo of the entry that left the window last
}

// A logEntry has the events of one instant. Their number is upTo less upTo of the entry before. So
// the number of events in the window, and the instant at which it has fallen to a given number, are
// found without adding up entries.
type logEntry struct {
	at   Instant
	upTo int64 // events up to this entry; may wrap, as only differences count
}

// minLog is the capacity below which a log does not shrink.
const minLog = 4

// window returns the entries in the window.
func (l *slidingLog) window() []logEntry { return l.entries[l.first:] }

// last returns the newest entry in the window, or nil if the window is empty.
func (l *slidingLog) last() *logEntry {
	if len(l.entries) == l.first {
		return nil
	}
	return &l.entries[len(l.entries)-1]
}

// used returns how many events are in the window.
func (l *slidingLog) used() int64 {
	if last := l.last(); last != nil {
		return last.upTo - l.gone
	}
	return 0
}

// asOf returns a view of the log as of now, without what has left the window. moved reports whether
// the clock was set back: then all entries of the view are moved back with it. The log itself stays
// as it is. The view shares the entries of the log, unless the clock was set back.
func (l *slidingLog) asOf(r *Rule, now Instant) (view slidingLog, moved bool) {
	view = *l
	view.at, moved = l.at.follow(now)
	if moved {
		view.entries, view.first = slices.Clone(l.window()), 0
		for i := range view.entries {
			view.entries[i].at -= l.at - view.at
		}
	}
	live, left := view.window(), view.at-Instant(r.window)
	if len(live) > 0 && live[0].at <= left {
		gone := sort.Search(len(live), func(i int) bool { return live[i].at > left })
		view.gone = live[gone-1].upTo
		view.first += gone
	}
	return view, moved
}

// advance drops what has left the window at now.
func (l *slidingLog) advance(r *Rule, now Instant) {
	*l, _ = l.asOf(r, now)
	l.compact()
}

// compact frees memory if less than a quarter of it is used. Otherwise it reuses the memory of the
// dropped entries if they are more than a fifth of all. So an entry is moved a few times at most.
func (l *slidingLog) compact() {
	switch live := l.window(); {
	case cap(l.entries) > minLog && len(live) < cap(l.entries)/4:
		l.entries = append(make([]logEntry, 0, max(minLog, 2*len(live))), live...)
	case l.first > len(live)/4:
		l.entries = l.entries[:copy(l.entries, live)]
	default:
		return
	}
	l.first = 0
}

// add records cost events at the newest instant.
func (l *slidingLog) add(cost int64) {
	if last := l.last(); last != nil && last.at == l.at {
		last.upTo += cost
		return
	}
	l.entries = append(l.entries, logEntry{l.at, l.gone + l.used() + cost})
}

// oldest returns the instant of the nth event in the window, counted from 1.
func (l *slidingLog) oldest(n int64) Instant {
	live := l.window()
	return live[sort.Search(len(live), func(i int) bool { return live[i].upTo-l.gone >= n })].at
}

func (l *slidingLog) Take(r *Rule, now Instant, cost int64) Decision {
	view, moved := l.asOf(r, now)
	ok := cost <= r.capacity-view.used()
	if !ok && !moved {
		return view.decide(r, false, cost)
	}
	*l = view
	l.compact()
	if ok {
		l.add(cost)
	}
	return l.decide(r, ok, cost)
}

func (l *slidingLog) Peek(r *Rule, now Instant, cost int64) Decision {
	view, _ := l.asOf(r, now)
	return view.decide(r, cost <= r.capacity-view.used(), cost)
}

// Follow implements [Count].
func (l *slidingLog) Follow(r *Rule, now Instant) {
	if view, moved := l.asOf(r, now); moved {
		*l = view
	}
}

// decide returns the answer to a take. ok says whether the take is allowed, and l is as the take
// left it.
func (l *slidingLog) decide(r *Rule, ok bool, cost int64) (d Decision) {
	used := l.used()
	if d.answer(r, l.at, used, ok, cost) {
		d.RetryAt = l.oldest(used-(r.capacity-cost)) + Instant(r.window)
	}
	if used > 0 {
		d.ResetAt = l.last().at + Instant(r.window)
	}
	return d
}

// Refund implements [Count]. It takes time proportional to the number of entries after the take. It
// gives back nothing for events that have left the window, because the events in the window are
// those of other takes.
func (l *slidingLog) Refund(r *Rule, now Instant, seen Events, cost int64) {
	l.advance(r, now)
	taken := seen.At
	if taken <= l.at-Instant(r.window) {
		return
	}
	live := l.window()
	from := sort.Search(len(live), func(i int) bool { return live[i].at >= taken })
	before := l.gone // upTo of the entry before, as it was
	if from > 0 {
		before = live[from-1].upTo
	}
	kept, back := live[:from], int64(0)
	for _, e := range live[from:] {
		events := e.upTo - before
		before = e.upTo
		// Events of a late reading were recorded at the newest instant, which is up to LateReading
		// later. Among the events from taken to then, the oldest are given back, so that the events
		// that stay leave the log no earlier than those of the other takes.
		if e.at <= taken+LateReading {
			give := min(events, cost-back)
			back += give
			events -= give
		}
		if events > 0 {
			e.upTo -= back
			kept = append(kept, e)
		}
	}
	l.entries = l.entries[:l.first+len(kept)]
}

// Charge implements [Count].
func (l *slidingLog) Charge(r *Rule, now Instant, cost int64) {
	l.advance(r, now)
	if cost = chargeable(l.used(), cost); cost > 0 {
		l.add(cost)
	}
}

// Inspect implements [Count].
func (l *slidingLog) Inspect(r *Rule, now Instant) CountState {
	view, _ := l.asOf(r, now)
	return stateOf(view.decide(r, view.used() < r.capacity, 1), view.used())
}

// AddQuota implements [Count]. It removes the newest events.
func (l *slidingLog) AddQuota(r *Rule, now Instant, events int64) {
	view, _ := l.asOf(r, now)
	if view.used() == 0 {
		return
	}
	*l = view
	l.compact()
	kept := max(0, l.used()-events)
	live := l.window()
	n := sort.Search(len(live), func(i int) bool { return live[i].upTo-l.gone >= kept })
	if kept > 0 {
		live[n].upTo = l.gone + kept
		n++
	}
	l.entries = l.entries[:l.first+n]
}
