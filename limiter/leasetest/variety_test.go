package leasetest

import "math/rand/v2"

// A variety is what happens in some random fleets besides takes.
type variety struct {
	drift   int64   // ppm by which the clocks of nodes are faster or slower than the store's
	strict  bool    // the store decides all takes
	refunds float64 // probability that some of a take is refunded later
}

// varietyOf returns that of a fleet. With a fault, it is what that needs.
func varietyOf(seed uint64, f fault) (v variety) {
	if f.name != "" {
		return f.variety
	}
	rng := rand.New(rand.NewPCG(seed, 9)) // another one: so the fleets without variety stay as they are
	v.drift = oneOf[int64](rng, 0, 0, mostDrift)
	if f.maxWait > 0 {
		return v
	}
	v.strict = rng.IntN(12) == 0
	v.refunds = oneOf(rng, 0, 0, 0.02, 0.3)
	return v
}
