package limiter

// A Restored is consumption that a store keeps elsewhere, such as in Redis, where it decides too: from what such a store says
// it holds, this works out the answer. All of it is as of the instant of the decision.
type Restored struct{ count lendingCount }

// Open are the events that a store has lent and that may still be spent: those of the slot of time that ends at Ends, and those
// of the one before. The slots are Length µs long.
type Open struct {
	Ends                  Instant
	Length, Lent, Earlier int64
}

func (o Open) slots() leaseSlots {
	return leaseSlots{ends: o.Ends, length: o.Length, open: o.Lent, before: o.Earlier}
}

// RestoreTokenBucket returns a bucket that lacks so many events, part/microseconds of which have accrued; see [Rule.Rate].
func RestoreTokenBucket(r *Rule, at Instant, missing, part int64, open Open) Restored {
	return Restored{&lendingBucket{tokenBucket{at: at, missing: missing, part: part, per: r.per}, open.slots()}}
}

// RestoreFixedWindow returns so many events used in the window that ends at end. The last lease ends at leased.
func RestoreFixedWindow(r *Rule, at, end Instant, used int64, leased Instant) Restored {
	return Restored{&lendingFixed{fixedWindow{at: at, end: end, window: r.window, used: used}, leased}}
}

// RestoreSlidingWindow returns the events in each sub-window, the newest first, which began at start. There is one more of
// them than the rule has sub-windows. The last lease ends at leased.
func RestoreSlidingWindow(r *Rule, at, start Instant, counts []int64, leased Instant) Restored {
	w := &lendingSliding{slidingWindow{at: at, start: start, sub: r.sub, counts: make([]int64, len(counts))}, leased}
	for age, n := range counts {
		w.counts[(len(counts)-age)%len(counts)] = n // the ring goes round to the oldest, next to the current one
		if age < len(counts)-1 {
			w.full += n
		}
	}
	return Restored{w}
}

// Events are events of one instant.
type Events struct {
	At Instant
	N  int64
}

// RestoreSlidingLog returns the events in the window, oldest first. Those of no events are left out.
func RestoreSlidingLog(at Instant, open Open, events ...Events) Restored {
	l := &lendingLog{slidingLog{at: at}, open.slots()}
	for _, e := range events {
		if e.N > 0 {
			l.ring.push(logEntry{e.At, l.used() + e.N})
		}
	}
	return Restored{l}
}

// Peek returns what a take of cost events would be answered at now.
func (s Restored) Peek(r *Rule, now Instant, cost int64) (d Decision) {
	s.count.advance(r, now)
	s.count.decide(&d, r, cost <= r.capacity-s.count.consumed(), cost)
	return d
}

// Undo gives back what was consumed.
func (s Restored) Undo(r *Rule, consumed Events) { s.count.undo(r, consumed, Events{}) }

// FillAnswer writes the answer to a loan that the store has dealt with, when Served and Lent are written.
func (s Restored) FillAnswer(l *LeaseRequest) { l.tell(s.count) }
