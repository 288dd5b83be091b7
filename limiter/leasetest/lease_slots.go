package leasetest

import "github.com/fleetlimit/fleetlimit/limiter"

// leaseSlots account for what a store has lent by slots of time: what was lent in a slot can be
// spent until the end of the next one.
//
// The slots follow each other from the Unix epoch, unless their length was changed.
type leaseSlots struct {
	ends     limiter.Instant // of the current slot
	length   int64           // in µs; 0 when nothing was ever lent
	current  int64           // lent in the current slot, less what was returned
	previous int64           // lent in the slot before, less what was returned
}

// out returns how many events may still be spent by the nodes that leased them.
func (s *leaseSlots) out() int64 { return s.current + s.previous }

// lentUntil returns until when what is lent now can be spent.
func (s *leaseSlots) lentUntil() limiter.Instant { return s.ends + limiter.Instant(s.length) }

func (s *leaseSlots) leasedUntil() limiter.Instant {
	switch {
	case s.current > 0:
		return s.lentUntil()
	case s.previous > 0:
		return s.ends
	}
	return 0
}

// lend adds n events at the instant at, which is before the end of the current slot, in slots of
// this length.
//
// Slots of another length end first: what was lent in them counts for as long as it can be spent,
// and the new slot begins no earlier than at, so that its instants tell it from the old ones.
func (s *leaseSlots) lend(at limiter.Instant, length, n int64) {
	if s.length != length || s.out() == 0 {
		ends := begin(at, length) + limiter.Instant(length)
		if s.out() > 0 {
			ends = max(at+limiter.Instant(length), s.lentUntil())
		}
		*s = leaseSlots{ends: ends, length: length, previous: s.out()}
	}
	s.current += n
}

// follow moves the current slot to at, to which the clock was set back.
func (s *leaseSlots) follow(at limiter.Instant) {
	if s.out() > 0 {
		s.ends = at + limiter.Instant(s.length)
	}
}

// rotate makes the next slot the current one and returns how many events have expired.
func (s *leaseSlots) rotate() (expired int64) {
	expired = s.previous
	s.current, s.previous = 0, s.current
	s.ends += limiter.Instant(s.length)
	return expired
}

// takeBack subtracts up to e.N events that were lent at the instant e.At, and returns how many.
func (s *leaseSlots) takeBack(e limiter.Events) int64 {
	slot, begins := &s.current, s.ends-limiter.Instant(s.length)
	switch {
	case e.At >= s.ends || e.At < begins-limiter.Instant(s.length):
		return 0
	case e.At < begins:
		slot = &s.previous
	}
	n := min(e.N, *slot)
	*slot -= n
	return n
}
