package limiter

import "math"

// arrivals has takes of a key arrive until the end, at so many times its limit: in one of several shapes over time and over nodes.
func (w *world) arrivals(key int, load float64, end Instant) {
	gap := float64(w.rule.window) / (load * float64(w.rule.Limit.Events)) // µs between two events
	mixed := w.IntN(3) == 0
	if mixed {
		gap *= 2.4
	}
	cost := func() int64 {
		if !mixed || w.IntN(10) < 6 {
			return 1
		}
		return 1 + w.Int64N(8)
	}
	node, pace := w.placement(), w.pace()
	var arrive func()
	arrive = func() {
		if w.now < end {
			w.nodes[node()%len(w.nodes)].take(key, cost())
			w.after(pace(gap), arrive)
		}
	}
	w.after(pace(gap), arrive)
}

// placement returns which node a take arrives at, of as many as there are now.
func (w *world) placement() func() int {
	n := len(w.nodes)
	pinned := w.IntN(n)
	switch w.IntN(5) {
	case 0:
		return func() int { return pinned }
	case 1: // a few have most
		return func() int { return min(n-1, int(math.Exp(w.Float64()*math.Log(float64(n+1))))-1) }
	case 2: // one after the other has all
		turn := 1 + w.Int64N(2*w.rule.window)
		return func() int { return int(int64(w.now)/turn) % n }
	case 3: // all, and then one
		moves := w.now + Instant(w.Int64N(2*w.rule.window))
		return func() int {
			if w.now < moves {
				return w.IntN(n)
			}
			return pinned
		}
	}
	return func() int { return w.IntN(n) }
}

// pace returns how long after a take the next one arrives, in µs, when that is gap on average.
func (w *world) pace() func(gap float64) int64 {
	period := 1 + w.Int64N(2*w.rule.window)
	switch w.IntN(3) {
	case 0: // with the windows themselves
		period = w.rule.window
	case 1: // with what leases last
		period = 1 + w.Int64N(3*w.rule.LeaseTime())
	}
	on := max(1, period/oneOf[int64](w.Rand, 2, 5, 20)) // with none, no time would ever pass
	steady := func(gap float64) int64 { return int64(w.ExpFloat64() * gap) }
	switch w.IntN(4) {
	case 0: // only at times
		return func(gap float64) int64 {
			us := steady(gap * float64(on) / float64(period))
			if at := w.now + Instant(us); at.into(period) > on {
				us += period - at.into(period)
			}
			return us
		}
	case 1:
		return w.strike()
	case 2: // in heaps
		return func(gap float64) int64 {
			if w.IntN(20) > 0 {
				return w.Int64N(3)
			}
			return steady(20 * gap)
		}
	}
	return steady
}

// strike returns the pace of those who have leases gathered on all nodes for a while, without using up the limit, wait for as long as
// those last, and then take all that there is at once: what is lent, and what has been refilled in its place.
func (w *world) strike() func(gap float64) int64 {
	r, begun, blows := w.rule, w.now, int64(0)
	gather := Instant(r.LeaseTime() * (4 + w.Int64N(8)))
	return func(gap float64) int64 {
		switch {
		case blows > 0:
			blows--
			return w.Int64N(2)
		case begun == 0: // it is over
			return int64(w.ExpFloat64() * gap)
		case w.now < begun+gather:
			return int64(w.ExpFloat64() * float64(r.window) / (0.9 * float64(r.Limit.Events)))
		}
		begun, blows = 0, 2*r.capacity
		end := r.LeaseTime()
		if r.slot > 0 {
			end = 2*r.slot - w.now.into(r.slot) - r.LeaseMargin()
		}
		return end - w.Int64N(1+end/5)
	}
}
