// Package topkeys finds the keys that use a zone most, among any number of keys. It has memory for
// about a thousand keys.
//
// A sketch counts keys by the Space-Saving algorithm of Metwally, Agrawal and El Abbadi (2005). It
// has a fixed number of counters. A key without a counter replaces the key with the smallest count,
// and inherits that count as its possible error. So a key that uses more than its share of the
// counters always has one, and the sketch knows how wrong each count may be.
//
// Takes are added to a [List]: shards of sketches, each with a lock that no take waits for. A busy
// list counts one take in eight. Takes are counted in generations of 30 seconds, and a list has the
// current generation and the one before. So a [Top] describes the last 30 to 60 seconds.
package topkeys

// maxKey is the length of the longest key in bytes. Package keytemplate makes no longer keys.
const maxKey = 64

// perSketch is the number of counters in a sketch.
const perSketch = 32

// A counter counts the events of one key in this generation and in the one before. The sum is in
// sketch.events.
type counter struct {
	before       uint64 // events of the generation before
	errors       uint64 // number of the counted events that may be events of other keys
	errorsBefore uint64
	rule         uint32
	limit        uint32 // of the newest take
	tier         uint16 // of the newest take
	length       uint8  // of key, in bytes; 0 if the counter is free
	key          [maxKey]byte
}

func (c *counter) is(t *Take) bool {
	return c.rule == t.Rule && string(c.key[:c.length]) == string(t.Key)
}

// A Take is one take of a key under a rule.
type Take struct {
	Rule  uint32 // ID of the rule that has the count
	Limit uint32 // ID of the limit, as a rule may have several
	Key   []byte // at most maxKey bytes
	Tier  uint16 // number of the key's tier in the zone
	Cost  int64
}

// A sketch counts the events of the keys that have most events. The zero value is an empty sketch.
//
// Invariant: a key without a counter has at most atMost() events in the two generations.
type sketch struct {
	generation int64
	evicted    uint64 // upper bound of the events of keys that had no counter when the generation began

	// hashes and events belong to counters with the same index. They are apart from counters so that a
	// search reads little memory.
	hashes [perSketch]uint32 // of the keys
	events [perSketch]uint64

	counters [perSketch]counter
}

// advance begins a generation. It does nothing if the generation is the current one, or the one
// before, to which a late take may belong.
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

// add counts events of a key whose hash is hash. If the key had another tier at its last take, add
// returns that tier and true.
func (s *sketch) add(hash uint32, t *Take, events uint64) (before uint16, changed bool) {
	i, known := s.find(hash, t)
	s.events[i] += events
	c := &s.counters[i]
	before, changed = c.tier, known && c.tier != t.Tier
	c.limit, c.tier = t.Limit, t.Tier
	return before, changed
}

// find returns the index of the counter of a key. known reports whether the key had a counter. If
// it had none, find gives it the counter with the fewest events.
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

// atMost returns an upper bound of the events of any key without a counter.
func (s *sketch) atMost() uint64 { return s.events[s.least()] + s.evicted }
