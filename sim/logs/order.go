package logs

import (
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
)

// maxHeld is how many requests are held back at most, so that a log with one instant for all lines
// does not fill the memory. Those beyond it leave too early, and what comes before them is late.
const maxHeld = 1 << 22

// An order sorts requests that are nearly in order. It holds back those that arrived within bound µs
// of the newest one.
type order struct {
	bound  int64
	newest int64
	held   sim.RequestQueue[struct{}]
	late   int64 // requests that came too late to be sorted: they take the instant of the last one
	last   int64 // instant of the request that left last
}

func (o *order) add(r sim.Request) {
	o.newest = max(o.newest, int64(r.At))
	o.held.Push(r, struct{}{})
}

// next returns the next request of which none can be earlier. all means that no more are added.
func (o *order) next(all bool) (r sim.Request, ok bool) {
	if o.held.Len() == 0 || !all && o.held.Len() <= maxHeld && int64(o.held.First()) > o.newest-o.bound {
		return sim.Request{}, false
	}
	r, _ = o.held.Pop()
	if int64(r.At) < o.last {
		o.late++
		r.At = limiter.Instant(o.last)
	}
	o.last = int64(r.At)
	return r, true
}
