package limiter

// leaseSlots account for what a store has lent, by slots of time: what was lent in a slot can be spent to the end of the next one,
// and after that nothing of it is left.
//
// The slots follow each other from the Unix epoch, unless their length was changed.
type leaseSlots struct {
	ends   Instant // of the current slot
	length int64   // in µs; 0 when nothing was ever lent
	open   int64   // lent in the current slot, less what came back
	before int64   // lent in the one before, less what came back
}

// out returns how many events may still be spent by those who have them.
func (s *leaseSlots) out() int64 { return s.open + s.before }

// lentUntil returns until when what is lent now can be spent.
func (s *leaseSlots) lentUntil() Instant { return s.ends + Instant(s.length) }

// leasedUntil returns when the last lease ends that is out, and 0 when none is.
func (s *leaseSlots) leasedUntil() Instant {
	switch {
	case s.open > 0:
		return s.lentUntil()
	case s.before > 0:
		return s.ends
	}
	return 0
}

// begin makes at, which is before the end of the current slot, the time of a loan in slots of this length. Slots of another length
// are brought to an end first: what was lent in them counts for as long as it can be spent, and the new slot begins no earlier than
// at, so that it is told by its instant from what is lent now.
func (s *leaseSlots) begin(at Instant, length int64) {
	end := at + Instant(length-at.into(length))
	if s.length == length && s.out() > 0 {
		return
	}
	if s.out() > 0 {
		end = max(at+Instant(length), s.lentUntil())
	}
	s.ends, s.length = end, length
	s.open, s.before = 0, s.out()
}

// rotate makes the next slot the current one. It returns what nobody can spend any more.
func (s *leaseSlots) rotate() (over int64) {
	over = s.before
	s.open, s.before = 0, s.open
	s.ends += Instant(s.length)
	return over
}

// back takes back up to n of the events that were lent at the instant at, and returns how many.
func (s *leaseSlots) back(n int64, at Instant) int64 {
	slot := &s.open
	switch begin := s.ends - Instant(s.length); {
	case at >= s.ends || at < begin-Instant(s.length):
		return 0
	case at < begin:
		slot = &s.before
	}
	n = min(n, *slot)
	*slot -= n
	return n
}
