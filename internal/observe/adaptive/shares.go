package adaptive

// shares count the requests in flight by key.
//
// The fair share of a key is the limit divided by the number of keys that have requests in flight.
// Keys may use what others leave of their shares, so nothing is left idle. A key below its share
// may also use a tenth above the limit. A key at or above its share may not: it gets nothing while
// the others use that tenth. So that key loses room with each of its requests that ends, until all
// other keys have what they need, or their share.
type shares struct {
	inFlight int
	ofKey    map[uint64]int // number of requests by the hash of the key; without keys that have none
}

// admits reports whether one more request of a key may be in flight under a limit.
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

// begin adds a request of a key.
func (s *shares) begin(key uint64) {
	if s.ofKey == nil {
		s.ofKey = make(map[uint64]int)
	}
	s.inFlight++
	s.ofKey[key]++
}

// end removes a request of a key.
func (s *shares) end(key uint64) {
	s.inFlight--
	if s.ofKey[key]--; s.ofKey[key] == 0 {
		delete(s.ofKey, key)
	}
}
