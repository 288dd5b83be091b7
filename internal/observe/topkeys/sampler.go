package topkeys

import "sync/atomic"

const (
	// allBelow is how many takes a second are all counted: so few in eight would say nothing.
	allBelow = 100

	// sampledBits is the logarithm of how many takes one is counted for in a busy list.
	sampledBits = 3
)

// A sampler chooses the takes of a list that are counted: all while they are few, else one of each
// eight in a row, at a place that differs from eight to eight. It does not look at keys: all takes
// of a key would be counted then, or none.
type sampler struct {
	start  uint64 // random, so that no client can foresee the places
	takes  atomic.Uint64
	busy   atomic.Bool
	second atomic.Int64
	before atomic.Uint64 // the takes before that second
}

// sample returns how many takes the one in a second stands for. It returns 0 if the take is not counted.
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

// place returns which of the takes of an eight is counted. The multiplier spreads the places of
// consecutive eights evenly.
func place(eight uint64) uint64 { return eight * 0x9e3779b97f4a7c15 >> (64 - sampledBits) }

// measure decides whether takes are many, by those of the second before or of this one.
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
