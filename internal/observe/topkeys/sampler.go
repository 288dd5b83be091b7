package topkeys

import "sync/atomic"

const (
	// allBelow is the number of takes per second from which on a list samples. Of fewer takes, one in
	// eight would say too little.
	allBelow = 100

	// A busy list counts one take in 1<<sampledBits.
	sampledBits = 3
)

// A sampler chooses the takes that a list counts: all takes while they are few, and one in each
// eight consecutive takes otherwise. Which of the eight differs from eight to eight. The choice
// does not depend on the key: otherwise all takes of a key would be counted, or none.
type sampler struct {
	start  uint64 // random, so that no client can foresee which takes are counted
	takes  atomic.Uint64
	busy   atomic.Bool
	second atomic.Int64
	before atomic.Uint64 // number of takes before that second
}

// sample returns how many takes a take in this second stands for: 1 or eight, or 0 if it is not
// counted.
func (s *sampler) sample(second int64) (weight uint64) {
	n := s.takes.Add(1)
	weight = 1
	if s.busy.Load() {
		if n&(1<<sampledBits-1) != place(s.start+n>>sampledBits) {
			return 0
		}
		weight = 1 << sampledBits
	}
	s.measure(n, second)
	return weight
}

// place returns which take of an eight is counted, from 0 to 7. The multiplier spreads the places
// of consecutive eights evenly.
func place(eight uint64) uint64 { return eight * 0x9e3779b97f4a7c15 >> (64 - sampledBits) }

// measure decides whether the list is busy. It is if this second has had allBelow takes. At the
// first take of a second, it is if there were allBelow takes per second since the last second with
// a take.
func (s *sampler) measure(takes uint64, second int64) {
	last := s.second.Load()
	if second == last {
		if takes-s.before.Load() >= allBelow && !s.busy.Load() {
			s.busy.Store(true)
		}
		return
	}
	if s.second.CompareAndSwap(last, second) {
		passed := uint64(max(1, second-last))
		s.busy.Store(takes-s.before.Swap(takes) >= allBelow*passed)
	}
}
