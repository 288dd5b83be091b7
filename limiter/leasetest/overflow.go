package leasetest

import "github.com/fleetlimit/fleetlimit/limiter"

// An overflow notes how long a bucket was as full as its parts let it be, in the newest
// limiter.OverflowWindows windows of time. What it refilled meanwhile is lost. A window has
// overflowUnits units.
type overflow struct {
	newest int64 // the number of the newest window
	units  [limiter.OverflowWindows]int64
}

const (
	overflowUnits = 255

	// overflowParts is how many windows a long slot has.
	overflowParts = 24
)

// overflowUnit returns the length of a unit, in µs, while short slots have this length.
func overflowUnit(length int64) int64 { return longSlot(length) / (overflowParts * overflowUnits) }

// moveTo makes the window of the instant at the newest one.
func (o *overflow) moveTo(at limiter.Instant, unit int64) {
	newest := int64(at) / (overflowUnits * unit)
	moved := overflow{newest: newest}
	for i := range moved.units {
		if from := int64(i) - (newest - o.newest); from >= 0 && from < int64(len(o.units)) {
			moved.units[i] = o.units[from]
		}
	}
	*o = moved
}

// add notes that the bucket has overflowed from one instant to another.
func (o *overflow) add(from, to limiter.Instant, unit int64) {
	o.moveTo(to, unit)
	for i := range o.units {
		begins := limiter.Instant((o.newest - int64(i)) * overflowUnits * unit)
		ends := begins + limiter.Instant(overflowUnits*unit)
		if us := int64(min(to, ends) - max(from, begins)); us > 0 {
			o.units[i] = min(overflowUnits, o.units[i]+us/unit)
		}
	}
}

// pay returns for how many µs the bucket has overflowed since events were spent, but at most the time
// in which it refills as many. At most most events are paid for, the oldest first. What has paid does
// not pay again.
func (o *overflow) pay(r *limiter.Rule, s limiter.Spends, most, unit int64) (us int64) {
	refill, per := r.Rate()
	for i := len(s.Events) - 1; i >= 0; i-- {
		n := min(int64(s.Events[i]), most)
		most -= n
		takes, _ := mulAddDiv(n, per, 0, refill)
		units := takes / unit
		for k := len(o.units) - 1; k >= 0; k-- {
			if o.newest-int64(k) > s.Newest-int64(i) {
				paid := min(units, o.units[k])
				o.units[k] -= paid
				units -= paid
				us += paid * unit
			}
		}
	}
	return us
}
