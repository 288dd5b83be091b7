package limiter

// Restored counts are for stores that keep consumption elsewhere, such as in Redis, and decide there: from what such a
// store says it holds, the count works out the answer. All of them are as of the instant at.

// RestoreTokenBucket returns a count of a bucket that lacks so many events, part/microseconds of which have accrued; see
// [Rule.Rate].
func RestoreTokenBucket(r *Rule, at Instant, missing, part int64) Count {
	return State{int64(at), missing, part, r.per}
}

// RestoreFixedWindow returns a count of so many events used in the window that ends at end.
func RestoreFixedWindow(r *Rule, at, end Instant, used int64) Count {
	return State{int64(at), int64(end), r.window, used}
}

// RestoreSlidingWindow returns a count of the events in each sub-window, the newest first, which began at start. There is
// one more of them than the rule has sub-windows.
func RestoreSlidingWindow(r *Rule, at, start Instant, counts []int64) Count {
	s := make(State, slidingNumbers+len(counts))
	w := slidingWindow{at: at, start: start, sub: r.sub, counts: s[slidingNumbers:]}
	for age, n := range counts {
		w.counts[(len(counts)-age)%len(counts)] = n // the ring goes round to the oldest, next to the current one
		if age < len(counts)-1 {
			w.full += n
		}
	}
	w.save(s)
	return s
}

// Events are events of one instant.
type Events struct {
	At Instant
	N  int64
}

// RestoreSlidingLog returns a count of the events in the window, oldest first. Those of no events are left out.
func RestoreSlidingLog(at Instant, events ...Events) Count {
	l := &slidingLog{at: at}
	for _, e := range events {
		if e.N > 0 {
			l.ring.push(logEntry{e.At, l.used() + e.N})
		}
	}
	return l
}
