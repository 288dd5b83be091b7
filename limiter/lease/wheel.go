package lease

import (
	"sync"

	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	// tick is how exactly the wheel knows when a lease ends, in µs. What is left of one should be told to the lender within the
	// margin that a node keeps at its end, which is shorter for the shortest leases only.
	tick = 10_000

	// wheelSize is how many ticks ahead the wheel knows: more than a lease lasts.
	wheelSize = 1024
)

// A wheel remembers when to look after which accounts: a ring of ticks, with the hashes of the keys that are due in each. So an
// account costs no timer, and nothing at all as long as it has no lease.
type wheel struct {
	mu   sync.Mutex
	next int64 // the tick that is taken next
	late bool  // of which some has been taken before
	due  [wheelSize][]due
}

// A due is accounts of the keys with a hash, of which one has a lease that ends at the instant at, or owes.
type due struct {
	at   limiter.Instant
	book *Zone
	hash uint64
}

// add has d taken in the first tick that begins after d.at, or before if that is further ahead than the wheel knows.
func (w *wheel) add(d due) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := min(max(int64(d.at)/tick+1, w.next), w.next+wheelSize-1)
	w.due[t%wheelSize] = append(w.due[t%wheelSize], d)
}

// take appends to all what is due at now, in the order of its ticks but so many at most. What is left is taken next.
func (w *wheel) take(now limiter.Instant, most int, all []due) []due {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := int64(now) / tick
	if first := last - wheelSize + 1; w.next < first {
		w.next, w.late = first, true
	}
	for ; w.next <= last; w.next++ {
		slot := &w.due[w.next%wheelSize]
		n := min(len(*slot), most)
		most -= n
		all = append(all, (*slot)[:n]...)
		clear((*slot)[:n]) // of the books
		if n < len(*slot) {
			*slot, w.late = (*slot)[n:], true
			break
		}
		if w.late || cap(*slot) > 4*len(*slot) { // what a rush needed is not kept
			*slot = nil
		}
		*slot, w.late = (*slot)[:0], false
	}
	return all
}
