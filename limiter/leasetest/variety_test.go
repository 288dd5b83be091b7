package leasetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A variety is what happens in some random fleets besides takes.
type variety struct {
	second  limiter.Rule // a second limit of the same requests; without events: none
	drift   int64        // ppm by which the clocks of nodes are faster or slower than the store's
	strict  bool         // the store decides all takes
	refunds float64      // probability that some of a take is refunded later
	charges float64      // probability that more than a take is charged later
	changes int          // by operators: resets, and added quota
}

func (v variety) String() string {
	second := "no second limit"
	if v.second.Limit.Events > 0 {
		second = fmt.Sprintf("second limit %+v, %+v, strict %v", v.second.Limit, v.second.Algorithm, v.second.Strict)
	}
	return fmt.Sprintf("%s, drift %d, strict %v, refunds %v, charges %v, %d changes", second, v.drift, v.strict, v.refunds, v.charges, v.changes)
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
	v.charges = oneOf(rng, 0, 0, 0, 0.02, 0.2)
	v.changes = oneOf(rng, 0, 0, 0, 1, 6)
	if rng.IntN(3) == 0 {
		v.second.Algorithm = oneOf(rng, bucket, log, fixed, sliding(1), sliding(5))
		v.second.Limit = limiter.Limit{
			Events: 1 + rng.Int64N(oneOf[int64](rng, 10, 100, 400)), Window: oneOf(rng, 200*time.Millisecond, time.Second, 3*time.Second),
		}
		v.second.Strict = rng.IntN(6) == 0
	}
	return v
}

// needsOrigin reports whether it must be known which leases takes were spent of.
func (v *variety) needsOrigin() bool { return v.refunds+v.charges > 0 || v.changes > 0 }

// vary has it happen until the takes end, for some windows.
func (s *simulation) vary() {
	if s.charges > 0 {
		s.checker.calm = false
	}
	for range s.changes {
		s.checker.calm = false
		s.driver.Add(1)
		s.afterUnlocked(s.rng.Int64N(2*int64(window(s.rule))), func() {
			defer s.driver.Done()
			s.mu.Lock()
			n, key := oneOf(s.rng, s.nodes...), s.rng.IntN(s.keys)
			if s.second != nil && s.rng.IntN(2) == 0 {
				key = secondKeys + s.rng.IntN(secondKeys)
			}
			s.mu.Unlock()
			n.operate(key)
		})
	}
}
