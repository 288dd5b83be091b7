package leasetest

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// arrivals has takes of a key arrive until the end, at load times its limit, in one of several
// shapes over time and over nodes.
func (s *simulation) arrivals(key int, load float64, end limiter.Instant) {
	gap := float64(window(s.rule)) / (load * float64(s.rule.Limit.Events)) // µs between two events
	mixed := s.rng.IntN(3) == 0
	if mixed {
		gap *= 2.4
	}
	cost := func() int64 {
		if !mixed || s.rng.IntN(10) < 6 {
			return 1
		}
		return 1 + s.rng.Int64N(8)
	}
	node, pace := s.placement(), s.pace()
	s.driver.Go(func() {
		for {
			s.mu.Lock()
			wait := s.moment(pace(gap))
			s.mu.Unlock()
			if sleepFor(wait); s.now() >= end {
				return
			}
			s.mu.Lock()
			n, c := s.nodes[node()%len(s.nodes)], cost()
			s.mu.Unlock()
			n.take(key, c)
		}
	})
}

// placement returns which of the nodes a take arrives at.
func (s *simulation) placement() func() int {
	n := len(s.nodes)
	pinned, length := s.rng.IntN(n), int64(window(s.rule))
	switch shape := s.rng.IntN(5); {
	case s.attack:
		return func() int { return s.rng.IntN(n) }
	case shape == 0:
		return func() int { return pinned }
	case shape == 1: // a few have most
		return func() int { return min(n-1, int(math.Exp(s.rng.Float64()*math.Log(float64(n+1))))-1) }
	case shape == 2: // one after the other has all
		turn := 1 + s.rng.Int64N(2*length)
		return func() int { return int(int64(s.now())/turn) % n }
	case shape == 3: // all, and then one
		moves := s.now() + limiter.Instant(s.rng.Int64N(2*length))
		return func() int {
			if s.now() < moves {
				return s.rng.IntN(n)
			}
			return pinned
		}
	}
	return func() int { return s.rng.IntN(n) }
}

// pace returns how long after a take the next one arrives, in µs, when that is gap on average.
func (s *simulation) pace() func(gap float64) int64 {
	if s.attack {
		return s.strike()
	}
	length := int64(window(s.rule))
	period := 1 + s.rng.Int64N(2*length)
	switch s.rng.IntN(3) {
	case 0: // with the windows themselves
		period = length
	case 1: // with what leases last
		period = 1 + s.rng.Int64N(3*s.rule.LeaseTime())
	}
	on := max(1, period/oneOf[int64](s.rng, 2, 5, 20)) // with none, no time would ever pass
	steady := func(gap float64) int64 { return int64(s.rng.ExpFloat64() * gap) }
	switch s.rng.IntN(4) {
	case 0: // only at times
		return func(gap float64) int64 {
			us := steady(gap * float64(on) / float64(period))
			at := s.now() + limiter.Instant(us)
			if into := int64(at - begin(at, period)); into > on {
				us += period - into
			}
			return us
		}
	case 1:
		return s.strike()
	case 2: // in heaps
		return func(gap float64) int64 {
			if s.rng.IntN(20) > 0 {
				return s.rng.Int64N(3)
			}
			return steady(20 * gap)
		}
	}
	return steady
}

// strike returns the pace of an attack: leases gather on all nodes for a while, without using up
// the limit. When they are about to end, takes come for all that there is at once: what is leased,
// and what has been refilled in its place.
func (s *simulation) strike() func(gap float64) int64 {
	r, begun, blows := s.rule, s.now(), int64(0)
	gather := limiter.Instant(r.LeaseTime() * (4 + s.rng.Int64N(8)))
	return func(gap float64) int64 {
		switch {
		case blows > 0:
			blows--
			return s.rng.Int64N(2)
		case begun == 0: // it is over
			return int64(s.rng.ExpFloat64() * gap)
		case s.now() < begun+gather:
			return int64(s.rng.ExpFloat64() * float64(window(r)) / (0.9 * float64(r.Limit.Events)))
		}
		begun, blows = 0, 2*r.Capacity()
		end := r.LeaseTime()
		if slot := r.LeaseSlot(); slot > 0 {
			end = int64(begin(s.now(), slot)-s.now()) + 2*slot - min(slot/4, 100*ms)
		}
		return end - s.rng.Int64N(1+end/5)
	}
}
