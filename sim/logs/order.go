package logs

import (
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
)

// maxHeld is the highest number of requests that an order holds back, so that a log with one instant in
// all lines does not fill the memory. If there are more, the earliest ones leave early, and requests
// that come later but arrived before them are late.
const maxHeld = 1 << 22

// An order sorts requests that are nearly in order. It holds back the requests that arrived less than
// bound µs before the newest one.
type order struct {
	bound  int64
	newest int64
	held   sim.RequestQueue[struct{}]
	late   int64 // number of requests that came too late to be sorted; each gets the instant of the request before it
	last   int64 // instant of the request that next returned last
}

func (o *order) add(r sim.Arrival) {
	o.newest = max(o.newest, int64(r.At))
	o.held.Push(r, struct{}{})
}

// next returns the earliest request, if no earlier one can come any more. all says that no more
// requests come.
func (o *order) next(all bool) (r sim.Arrival, ok bool) {
	if o.held.Len() == 0 || !all && o.held.Len() <= maxHeld && int64(o.held.First()) > o.newest-o.bound {
		return sim.Arrival{}, false
	}
	r, _ = o.held.Pop()
	if int64(r.At) < o.last {
		o.late++
		r.At = limiter.Instant(o.last)
	}
	o.last = int64(r.At)
	return r, true
}
