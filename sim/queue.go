package sim

import "github.com/fleetlimit/fleetlimit/limiter"

// A RequestQueue has requests in the order of their instants, each with a value of type More. Requests
// at one instant are in the order in which they were pushed. It is a binary heap, because that of the
// standard library allocates for each request. The zero value is empty.
type RequestQueue[More any] struct {
	heap []queued[More]
	came int64
}

type queued[More any] struct {
	Arrival
	more  More
	order int64
}

func (q *queued[More]) before(other *queued[More]) bool {
	return q.At < other.At || q.At == other.At && q.order < other.order
}

// Len returns the number of requests in q.
func (q *RequestQueue[More]) Len() int { return len(q.heap) }

// First returns the instant of the first request. q must not be empty.
func (q *RequestQueue[More]) First() limiter.Instant { return q.heap[0].At }

// Push adds a request.
func (q *RequestQueue[More]) Push(r Arrival, more More) {
	q.heap = append(q.heap, queued[More]{r, more, q.came})
	q.came++
	all := q.heap
	for i := len(all) - 1; i > 0; {
		parent := (i - 1) / 2
		if !all[i].before(&all[parent]) {
			return
		}
		all[i], all[parent] = all[parent], all[i]
		i = parent
	}
}

// Pop removes and returns the first request. q must not be empty.
func (q *RequestQueue[More]) Pop() (Arrival, More) {
	all, last := q.heap, len(q.heap)-1
	first := all[0]
	all[0] = all[last]
	q.heap = all[:last]
	for i := 0; ; {
		next := 2*i + 1
		if next >= last {
			return first.Arrival, first.more
		}
		if next+1 < last && all[next+1].before(&all[next]) {
			next++
		}
		if !all[next].before(&all[i]) {
			return first.Arrival, first.more
		}
		all[i], all[next] = all[next], all[i]
		i = next
	}
}
