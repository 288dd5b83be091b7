// Package topkeys finds the keys that use a zone most, however many keys there are, in the memory
// for about a thousand of them.
//
// A sketch counts keys by the Space-Saving algorithm of Metwally, Agrawal and El Abbadi (2005). It
// has a fixed number of counters. A key without one replaces the key with the smallest count, and
// inherits that count as its possible error. So a key that uses more than its share of the counters
// always has one, and the sketch knows how wrong each count may be.
//
// A [List] is what takes are added to: shards of sketches, each with a lock that no take waits for.
// A busy list counts one take in eight. Use is counted in two generations of 30 seconds each, so a
// [Top] describes the last 30 to 60 seconds.
package topkeys

// maxKey is the length in bytes of the longest key: that of package keytemplate.
const maxKey = 64

// perSketch is how many keys a sketch counts.
const perSketch = 32

// A counter is the use of one key in this generation and in the one before.
type counter struct {
	before       uint64 // of its events: those of the generation before
	errors       uint64 // of its events: those that may be of other keys
	errorsBefore uint64
	rule         uint32
	limit        uint32 // the newest
	tier         uint16 // the newest
	length       uint8  // of key; 0 if the counter is free
	key          [maxKey]byte
}

func (c *counter) is(t *Take) bool {
	return c.rule == t.Rule && string(c.key[:c.length]) == string(t.Key)
}

// A Take is a take of a key under a rule.
type Take struct {
	Rule  uint32 // the ID of the rule, whose count is meant
	Limit uint32 // tells apart the limits of that count
	Key   []byte // at most maxKey bytes
	Tier  uint16 // the number of its tier in the zone
	Cost  int64
}

// A sketch counts the use of the keys that have most of it. The zero value has counted nothing.
//
// Invariant: a key without a counter has at most atMost() events in the two generations.
type sketch struct {
	generation int64
	evicted    uint64 // the most that a key without a counter had when the generation began

	// Of the counters, apart from the rest so that a search reads little memory.
	hashes [perSketch]uint32 // of the keys
	events [perSketch]uint64

	counters [perSketch]counter
}

// advance begins a generation. A take may be late, so that its generation is the one before.
func (s *sketch) advance(generation int64) {
	switch generation {
	case s.generation, s.generation - 1:
		return
	case s.generation + 1:
		s.evicted = s.events[s.least()]
		for i := range s.counters {
			c := &s.counters[i]
			s.events[i] -= c.before
			c.errors -= c.errorsBefore
			c.before, c.errorsBefore = s.events[i], c.errors
		}
	default: // nothing was counted for long, or the clock was set back
		*s = sketch{}
	}
	s.generation = generation
}

// add counts events of a key with a hash. It returns the tier that the key was counted with before,
// if that is another one.
func (s *sketch) add(hash uint32, t *Take, events uint64) (before uint16, changed bool) {
	i, known := s.find(hash, t)
	s.events[i] += events
	c := &s.counters[i]
	before, changed = c.tier, known && c.tier != t.Tier
	c.limit, c.tier = t.Limit, t.Tier
	return before, changed
}

// find returns the index of the counter of a key, which gets the one with the fewest events if it
// has none. known reports whether it had one.
func (s *sketch) find(hash uint32, t *Take) (i int, known bool) {
	for i, h := range &s.hashes {
		if h == hash && s.counters[i].is(t) {
			return i, true
		}
	}
	i = s.least()
	c := &s.counters[i]
	s.hashes[i], c.rule, c.length = hash, t.Rule, uint8(copy(c.key[:], t.Key))
	c.errors, c.errorsBefore = s.events[i], c.before
	return i, false
}

// least returns the index of the counter with the fewest events.
func (s *sketch) least() (least int) {
	fewest := s.events[0]
	for i, n := range &s.events {
		if n < fewest {
			least, fewest = i, n
		}
	}
	return least
}

// atMost returns the most events that a key without a counter has.
func (s *sketch) atMost() uint64 { return s.events[s.least()] + s.evicted }
