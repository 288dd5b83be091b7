package adaptive

// shares are the requests in flight, by key: a pure calculator.
//
// The fair share of a key is the limit divided by the number of keys that have requests in flight.
// What keys do not use of their shares others may use, so nothing is left idle. But a key below its
// share may also use a tenth above the limit, which no other key may. While such keys do, none above
// its share gets anything: with each request of theirs that ends, they have less, until all others
// have what they need, or their share.
type shares struct {
	inFlight int
	ofKey    map[uint64]int // by the hash of the key; there is no entry for 0
}

// admits reports whether one more request of a key may be in flight.
func (s *shares) admits(key uint64, limit int) bool {
	own, keys := s.ofKey[key], len(s.ofKey)
	if own == 0 {
		keys++
	}
	if keys > 1 && own*keys < limit {
		limit += max(1, limit/10)
	}
	return s.inFlight < limit
}

// begin counts a request.
func (s *shares) begin(key uint64) {
	if s.ofKey == nil {
		s.ofKey = make(map[uint64]int)
	}
	s.inFlight++
	s.ofKey[key]++
}

// end counts the end of a request.
func (s *shares) end(key uint64) {
	s.inFlight--
	if s.ofKey[key]--; s.ofKey[key] == 0 {
		delete(s.ofKey, key)
	}
}
