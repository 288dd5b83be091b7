package lease

import "sync"

const (
	// tick is the precision of the wheel, in µs. Expired leases should be returned within
	// limiter.Rule.LeaseMargin, which is shorter for the shortest leases only.
	tick = 10_000

	// wheelSize is how many ticks the wheel looks ahead: longer than a lease lasts.
	wheelSize = 1024
)

// A wheel remembers when to attend to which accounts. It is a ring of ticks, each with the hashes
// of the keys that are due. So an account costs no timer, and without a lease nothing at all.
type wheel struct {
	mu   sync.Mutex
	next int64 // the tick that is taken next
	late bool  // some of it was taken before
	due  [wheelSize][]due
}

// A due is when to attend to the accounts with a hash: a lease expires, or a pause is over.
type due struct {
	at   instant
	zone *Zone
	hash uint64
}

// add has d taken in the first tick that begins after d.at, or in the last that the wheel knows.
func (w *wheel) add(d due) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := min(max(int64(d.at)/tick+1, w.next), w.next+wheelSize-1)
	w.due[t%wheelSize] = append(w.due[t%wheelSize], d)
}

// take appends to all what is due at now, in the order of ticks, but at most most. The rest is
// taken next time.
func (w *wheel) take(now instant, most int, all []due) []due {
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
		clear((*slot)[:n]) // of pointers to zones
		if n < len(*slot) {
			*slot, w.late = (*slot)[n:], true
			break
		}
		if w.late || cap(*slot) > 4*len(*slot) { // the memory that a rush needed is freed
			*slot = nil
		}
		*slot, w.late = (*slot)[:0], false
	}
	return all
}
