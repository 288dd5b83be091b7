package leasetest

import "math/rand/v2"

// A variety is what happens in some random fleets besides takes.
type variety struct {
	drift int64 // ppm by which the clocks of nodes are faster or slower than the store's
}

// vary has some of it happen. With a fault, only what that needs does.
func (s *simulation) vary(seed uint64) {
	if f := &s.fault; f.name != "" {
		s.variety = f.variety
		return
	}
	rng := rand.New(rand.NewPCG(seed, 9)) // another one: so the fleets without variety stay as they are
	s.drift = oneOf[int64](rng, 0, 0, mostDrift)
}
