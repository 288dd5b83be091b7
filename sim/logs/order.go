package logs

import (
	"container/heap"

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
	heap   requestHeap
	count  int64 // requests that were added, so that those of one instant keep their order
	late   int64 // requests that came too late to be sorted: they take the instant of the last one
	last   int64 // instant of the request that left last
}

type numbered struct {
	sim.Request
	number int64
}

type requestHeap []numbered

func (h requestHeap) Len() int { return len(h) }
func (h requestHeap) Less(i, j int) bool {
	return h[i].At < h[j].At || h[i].At == h[j].At && h[i].number < h[j].number
}
func (h requestHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *requestHeap) Push(x any)   { *h = append(*h, x.(numbered)) }
func (h *requestHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}

func (o *order) add(r sim.Request) {
	o.newest = max(o.newest, int64(r.At))
	heap.Push(&o.heap, numbered{r, o.count})
	o.count++
}

// next returns the next request of which none can be earlier. all means that no more are added.
func (o *order) next(all bool) (r sim.Request, ok bool) {
	if len(o.heap) == 0 || !all && len(o.heap) <= maxHeld && int64(o.heap[0].At) > o.newest-o.bound {
		return sim.Request{}, false
	}
	r = heap.Pop(&o.heap).(numbered).Request
	if int64(r.At) < o.last {
		o.late++
		r.At = limiter.Instant(o.last)
	}
	o.last = int64(r.At)
	return r, true
}
