package concurrency

import "container/list"

// MostQueued is how many requests wait for their turn on a node at most. Those of one rule are half as
// many, and those of a key as many as the key may have in flight, or leastQueued.
const MostQueued = 10_000

const leastQueued = 10

// A queue has the requests of a key that wait for their turn: a pure calculator. The oldest comes
// first, as long as all get their turn. Above 80 %, some wait in vain: then the newest comes first, as
// it waits the shortest, and has the longest until its client gives up. Else each would get its turn
// when it is about to be too late.
type queue struct {
	waiters list.List // of *waiter, the oldest first
	most    int
}

// isFull reports whether no more requests may wait.
func (q *queue) isFull() bool { return q.waiters.Len() >= q.most }

// push adds a request.
func (q *queue) push(w *waiter) { w.place = q.waiters.PushBack(w) }

// pop removes the request whose turn it is.
func (q *queue) pop() *waiter {
	next := q.waiters.Front()
	if 5*q.waiters.Len() > 4*q.most {
		next = q.waiters.Back()
	}
	w := next.Value.(*waiter)
	q.remove(w)
	return w
}

// remove removes a request that is in the queue.
func (q *queue) remove(w *waiter) {
	q.waiters.Remove(w.place)
	w.place = nil
}

// queued returns how many requests of the account wait for their turn.
func (a *account) queued() int {
	if a.queue == nil {
		return 0
	}
	return a.queue.waiters.Len()
}

// mostQueued returns how many requests of a key may wait for their turn.
func (r *Rule) mostQueued() int { return int(min(max(r.Limit, leastQueued), MostQueued)) }
